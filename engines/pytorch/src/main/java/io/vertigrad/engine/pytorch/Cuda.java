package io.vertigrad.engine.pytorch;

import com.sun.jna.NativeLibrary;
import com.sun.jna.ptr.PointerByReference;
import io.vertigrad.compute.Device;

/**
 * The GPUs of this machine according to NVIDIA's driver. The driver is asked before libtorch is
 * loaded, because libtorch for CUDA cannot compute without one, not even on the processor.
 */
final class Cuda {

  private final boolean present;
  private final String driver;

  /**
   * Describes the GPUs that libtorch can use, without loading anything.
   *
   * @param present true if the libtorch on the class path was built for CUDA
   * @param driver name of the driver's library
   */
  Cuda(boolean present, String driver) {
    this.present = present;
    this.driver = driver;
  }

  /** Returns true for a libtorch that was built for CUDA. */
  boolean present() {
    return present;
  }

  /**
   * Counts the GPUs.
   *
   * @return 1 or more
   * @throws IllegalArgumentException with the reason why there is none, and what to do
   */
  int count() {
    if (!present) {
      throw new IllegalArgumentException(
          "libtorch on the class path is for the processor: build with -Ppytorch-cuda"
              + " (VERTIGRAD_PROFILE=pytorch-cuda) for a GPU, or leave it out");
    }
    try {
      NativeLibrary library = NativeLibrary.getInstance(driver);
      int[] count = new int[1];
      int error = library.getFunction("cuInit").invokeInt(new Object[] {0});
      if (error == 0) {
        error = library.getFunction("cuDeviceGetCount").invokeInt(new Object[] {count});
      }
      if (error != 0 || count[0] < 1) {
        throw none(error == 0 ? "it has none" : reason(library, error));
      }
      return count[0];
    } catch (UnsatisfiedLinkError e) {
      throw none("its driver cannot be loaded: " + driver);
    }
  }

  /**
   * Checks that a device exists. Natives for CUDA need a driver even for the processor.
   *
   * @throws IllegalArgumentException with the reason why it does not, and what to do
   */
  void check(Device device) {
    int count = device.gpu() || present ? count() : 0;
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

  private static IllegalArgumentException none(String reason) {
    return new IllegalArgumentException(
        "libtorch for CUDA finds no GPU on this machine (%s): install NVIDIA's driver for it, or"
                .formatted(reason)
            + " build without -Ppytorch-cuda and leave workers.device out");
  }

  /** Returns the text that the driver has for an error. */
  static String reason(NativeLibrary library, int error) {
    PointerByReference text = new PointerByReference();
    int known = library.getFunction("cuGetErrorString").invokeInt(new Object[] {error, text});
    return known == 0 ? text.getValue().getString(0) : "CUDA error " + error;
  }
}
