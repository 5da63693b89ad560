package org.nd4j.nativeblas;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Provides ND4J's CPU bindings under their old name, as far as DL4J's layer helpers use it. */
public final class Nd4jCpu {

  private Nd4jCpu() {}

  /** Provides the native environment under its old name; calls are forwarded to the new one. */
  public static final class Environment {

    private static final String MOVED_TO =
        "org.nd4j.linalg.cpu.nativecpu.bindings.Nd4jCpu$Environment";

    private static final Environment INSTANCE = new Environment();

    private Environment() {}

    public static Environment getInstance() {
      return INSTANCE;
    }

    /**
     * Returns whether the native library was built with oneDNN, which used to be called MKL-DNN.
     */
    public boolean isUseMKLDNN() {
      try {
        Class<?> moved = Class.forName(MOVED_TO);
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        MethodHandle instance =
            lookup.findStatic(moved, "getInstance", MethodType.methodType(moved));
        MethodHandle uses =
            lookup.findVirtual(moved, "isUseONEDNN", MethodType.methodType(boolean.class));
        return (boolean) uses.invoke(instance.invoke());
      } catch (Throwable e) {
        throw new IllegalStateException(MOVED_TO + ": expected isUseONEDNN() to answer", e);
      }
    }
  }
}
