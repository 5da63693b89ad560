package io.vertigrad.engine.dl4j;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * NVIDIA's driver, asked before ND4J's CUDA backend starts. That backend prints a stack trace where
 * there is no driver, and fails at its first operation on a GPU that it has no code for.
 */
final class CudaDriver {

  private static final String BACKEND = "org/nd4j/linalg/jcublas/JCublasBackend.class";
  private static final String PROCESSOR = "org/nd4j/linalg/cpu/nativecpu/CpuBackend.class";
  private static final int CAPABILITY_MAJOR = 75;
  private static final int CAPABILITY_MINOR = 76;

  /** ND4J's library has machine code for 3.7 to 8.6, and nothing to compile for later ones. */
  private static final int LAST_MAJOR = 8;

  /** The functions of the driver that are called here; each returns an error, or 0. */
  interface Functions {

    int init();

    int count(int[] count);

    int attribute(int[] value, int attribute, int device);
  }

  private CudaDriver() {}

  /**
   * Returns the reason why the CUDA backend, if it is the only one on the class path, cannot
   * compute on this machine.
   */
  static Optional<String> obstacle() {
    ClassLoader loader = CudaDriver.class.getClassLoader();
    boolean cuda = loader.getResource(BACKEND) != null && loader.getResource(PROCESSOR) == null;
    return cuda ? obstacle(CudaDriver::load) : Optional.empty();
  }

  static Optional<String> obstacle(Supplier<Functions> driver) {
    Functions functions;
    try {
      functions = driver.get();
    } catch (UnsatisfiedLinkError none) {
      return Optional.of("there is no NVIDIA driver on this machine");
    }
    int error = functions.init();
    int[] found = new int[1];
    error = error == 0 ? functions.count(found) : error;
    if (error != 0 || found[0] == 0) {
      return Optional.of("NVIDIA's driver finds no GPU (error %d)".formatted(error));
    }
    int[] minor = new int[1];
    if (functions.attribute(found, CAPABILITY_MAJOR, 0) == 0
        && functions.attribute(minor, CAPABILITY_MINOR, 0) == 0
        && found[0] > LAST_MAJOR) {
      return Optional.of(
          "the GPU has compute capability %d.%d, and ND4J has code for 3.7 to 8.6 (engine pytorch"
                  .formatted(found[0], minor[0])
              + " computes on it)");
    }
    return Optional.empty();
  }

  private static Functions load() {
    NativeLibrary library =
        NativeLibrary.getInstance(Platform.isWindows() ? "nvcuda" : "libcuda.so.1");
    return new Functions() {
      @Override
      public int init() {
        return library.getFunction("cuInit").invokeInt(new Object[] {0});
      }

      @Override
      public int count(int[] count) {
        return library.getFunction("cuDeviceGetCount").invokeInt(new Object[] {count});
      }

      @Override
      public int attribute(int[] value, int attribute, int device) {
        return library
            .getFunction("cuDeviceGetAttribute")
            .invokeInt(new Object[] {value, attribute, device});
      }
    };
  }
}
