package io.vertigrad.engine.dl4j;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * NVIDIA's driver, asked before ND4J's CUDA backend starts. That backend prints a stack trace where
 * there is no driver, and fails at its first operation on a GPU that it has no code for.
 */
final class CudaDriver {

  private static final String BACKEND = "org/nd4j/linalg/jcublas/JCublasBackend.class";
  private static final String PROCESSOR = "org/nd4j/linalg/cpu/nativecpu/CpuBackend.class";
  private static final int CAPABILITY_MAJOR = 75;
  private static final int CAPABILITY_MINOR = 76;

  /**
   * ND4J's library has machine code for 3.7 to 8.6 and no PTX. Code for 8.6 also runs on 8.9, which
   * has the same major number; no code runs on a GPU with a greater one.
   */
  private static final int FIRST_MAJOR = 3;

  private static final int FIRST_MINOR = 7;
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
      return Optional.of("NVIDIA's driver finds no GPU (error %s)".formatted(error));
    }
    // ND4J spreads threads over all GPUs that CUDA_VISIBLE_DEVICES leaves.
    return IntStream.range(0, found[0]).boxed().flatMap(gpu -> unfit(functions, gpu)).findFirst();
  }

  private static Stream<String> unfit(Functions functions, int gpu) {
    int[] major = new int[1];
    int[] minor = new int[1];
    boolean known =
        functions.attribute(major, CAPABILITY_MAJOR, gpu) == 0
            && functions.attribute(minor, CAPABILITY_MINOR, gpu) == 0;
    boolean old = major[0] < FIRST_MAJOR || major[0] == FIRST_MAJOR && minor[0] < FIRST_MINOR;
    return known && (old || major[0] > LAST_MAJOR)
        ? Stream.of(
            "GPU %s has compute capability %s.%s, and ND4J has code for 3.7 to 8.9: hide it with CUDA_VISIBLE_DEVICES%s"
                .formatted(gpu, major[0], minor[0], old ? "" : ", or use the engine pytorch"))
        : Stream.empty();
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
