package io.vertigrad.engine.dl4j;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes the process settings that the native libraries read once, when they are loaded.
 *
 * <p>The settings are made from inside the process, so that a worker in a foreign JVM is as fast as
 * one started by a script. A variable or property that the user has set is never changed.
 */
final class NativeEnvironment {

  private static final int M_TRIM_THRESHOLD = -1;
  private static final int M_MMAP_THRESHOLD = -3;
  private static final int LARGEST_BLOCK = 1 << 30;
  private static final Path LOADED_LIBRARIES = Path.of("/proc/self/maps");

  private NativeEnvironment() {}

  /** The functions of the C library that change the running process. */
  private static final class CLibrary {

    static {
      Native.register(CLibrary.class, "c");
    }

    static native int setenv(String name, String value, int overwrite);

    static native int mallopt(int parameter, int value);
  }

  /**
   * Makes every setting that can still be made.
   *
   * @param threads number of threads that one model may compute on
   * @return the settings that could not be made, each with its cost; empty when all were made
   */
  static List<String> prepare(int threads) {
    setDefault("org.eclipse.deeplearning4j.helpers.disable", "false");
    setDefault("org.bytedeco.javacpp.maxphysicalbytes", "0");
    // It warns that the presets of ND4J and oneDNN are older than itself, else on standard error.
    setDefault("org.bytedeco.javacpp.logger", "slf4j");
    setDefault("org.nd4j.log.initialization", "false");
    List<String> missing = new ArrayList<>();
    if (!Platform.isLinux()) {
      missing.add("process settings need Linux (small networks up to 3 times slower)");
      return missing;
    }
    if (nativesAreLoaded()) {
      missing.add("ND4J was loaded before Vertigrad (small networks up to 3 times slower)");
      return missing;
    }
    try {
      variables(threads, Processor.local())
          .forEach((name, value) -> CLibrary.setenv(name, value, 0));
      keepFreedMemory(missing);
    } catch (UnsatisfiedLinkError e) {
      missing.add("the C library refused (" + e.getMessage() + ")");
    }
    return missing;
  }

  /**
   * Returns environment variables for the native libraries; variables that the user has set take
   * precedence.
   */
  static Map<String, String> variables(int threads, Processor processor) {
    Map<String, String> variables = new LinkedHashMap<>();
    variables.put("OMP_NUM_THREADS", Integer.toString(threads));
    variables.put("OPENBLAS_NUM_THREADS", Integer.toString(threads));
    variables.put("OMP_WAIT_POLICY", "PASSIVE");
    if (processor.openBlasCore() != null) {
      variables.put("OPENBLAS_CORETYPE", processor.openBlasCore());
    }
    return variables;
  }

  /**
   * Makes the C library keep freed memory: returning large blocks to the system costs page faults
   * at every step.
   */
  private static void keepFreedMemory(List<String> missing) {
    if (System.getenv("MALLOC_MMAP_THRESHOLD_") != null) {
      return;
    }
    boolean kept =
        CLibrary.mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK) == 1
            && CLibrary.mallopt(M_TRIM_THRESHOLD, Integer.MAX_VALUE) == 1;
    if (!kept) {
      missing.add("mallopt was refused (deep networks up to a third slower)");
    }
  }

  private static boolean nativesAreLoaded() {
    try {
      return Files.readString(LOADED_LIBRARIES).contains("libnd4jcpu");
    } catch (IOException e) {
      return false;
    }
  }

  private static void setDefault(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }
}
