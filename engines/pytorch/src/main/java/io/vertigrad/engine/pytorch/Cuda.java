package io.vertigrad.engine.pytorch;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import io.vertigrad.compute.Device;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Properties;

/**
 * The GPUs of this machine according to the CUDA runtime that comes with libtorch. The runtime is
 * asked before libtorch is loaded, because libtorch cannot be loaded without a driver.
 */
final class Cuda {

  /** The name by which DJL and JNA look for the runtime. */
  private static final String RUNTIME = "cudart";

  private final Properties natives;
  private final Path cache;

  /**
   * Describes the GPUs that the natives can use, without loading anything.
   *
   * @param natives properties of the libtorch on the class path
   * @param cache folder in which natives are unpacked
   */
  Cuda(Properties natives, Path cache) {
    this.natives = natives;
    this.cache = cache;
  }

  /** Returns true for a libtorch that was built for CUDA. */
  boolean present() {
    return flavor().startsWith("cu");
  }

  /**
   * Counts the GPUs.
   *
   * @return 1 or more
   * @throws IllegalArgumentException with the reason why there is none, and what to do
   */
  int count() {
    if (!present()) {
      throw new IllegalArgumentException(
          "libtorch on the class path is for the processor: build with -Ppytorch-cuda"
              + " (VERTIGRAD_PROFILE=pytorch-cuda) for a GPU, or leave it out");
    }
    try {
      NativeLibrary runtime = runtime();
      int[] count = new int[1];
      int error = runtime.getFunction("cudaGetDeviceCount").invokeInt(new Object[] {count});
      if (error != 0 || count[0] < 1) {
        throw none(error == 0 ? "it has none" : reason(runtime, error));
      }
      return count[0];
    } catch (UnsatisfiedLinkError | IOException e) {
      throw none("its runtime cannot be loaded: " + e.getMessage());
    }
  }

  /**
   * Checks that a device exists. Natives for CUDA need a driver even for the processor.
   *
   * @throws IllegalArgumentException with the reason why it does not, and what to do
   */
  void check(Device device) {
    int count = device.gpu() || present() ? count() : 0;
    if (device.gpu() && device.number().orElse(0) >= count) {
      throw new IllegalArgumentException(
          "this machine has %s, expected %s"
              .formatted(counted(count), count == 1 ? "cuda" : "cuda:0 to cuda:" + (count - 1)));
    }
  }

  /** Returns a text such as {@code 2 GPUs}. */
  static String counted(int gpus) {
    return gpus == 1 ? "1 GPU" : gpus + " GPUs";
  }

  private IllegalArgumentException none(String reason) {
    return new IllegalArgumentException(
        "libtorch for CUDA %s finds no GPU on this machine (%s): install NVIDIA's driver for it, or"
                .formatted(version(), reason)
            + " build without -Ppytorch-cuda and leave workers.device out");
  }

  private static String reason(NativeLibrary runtime, int error) {
    Function text = runtime.getFunction("cudaGetErrorString");
    return text.invokeString(new Object[] {error}, false);
  }

  /** Returns for example {@code cu124}, or {@code cpu}. */
  private String flavor() {
    return natives.getProperty("flavor", "cpu");
  }

  /** Returns for example {@code 12.4}. */
  private String version() {
    return flavor().replaceAll("^cu(\\d+)(\\d).*", "$1.$2");
  }

  /**
   * Unpacks and loads the runtime where DJL also finds it. DJL asks the system's runtime for the
   * number of GPUs; without a runtime it uses none of the natives.
   */
  private NativeLibrary runtime() throws IOException {
    Path folder = cache.resolve("vertigrad-cudart-" + natives.getProperty("version"));
    Path library = folder.resolve(System.mapLibraryName(RUNTIME));
    String resource =
        "pytorch/%s/%s/%s".formatted(flavor(), natives.getProperty("classifier"), runtimeName());
    if (!Files.exists(library)) {
      Files.createDirectories(folder);
      Path part = Files.createTempFile(folder, "cudart", ".part");
      try (InputStream in = Cuda.class.getClassLoader().getResourceAsStream(resource)) {
        if (in == null) {
          throw new IOException(resource + " is not on the class path");
        }
        Files.copy(in, part, StandardCopyOption.REPLACE_EXISTING);
        Files.move(part, library, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(part);
      }
    }
    NativeLibrary.addSearchPath(RUNTIME, folder.toString());
    return NativeLibrary.getInstance(RUNTIME);
  }

  private String runtimeName() throws IOException {
    String names = natives.getProperty("libraries", "");
    return Arrays.stream(names.split(","))
        .filter(name -> name.contains(RUNTIME))
        .findFirst()
        .orElseThrow(() -> new IOException("there is no " + RUNTIME + " among " + names));
  }
}
