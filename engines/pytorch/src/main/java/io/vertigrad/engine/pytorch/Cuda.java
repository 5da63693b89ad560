package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Device;
import java.util.List;
import java.util.function.Supplier;

/**
 * The GPUs of this machine according to NVIDIA's driver. The driver is asked before libtorch is
 * loaded, because libtorch for CUDA cannot compute without one, not even on the processor.
 */
final class Cuda {

  private final boolean present;
  private final Supplier<NvidiaDriver> driver;

  /**
   * Describes the GPUs that libtorch can use, without loading anything.
   *
   * @param present true if the libtorch on the class path was built for CUDA
   * @param driver loads the driver, or throws an {@code UnsatisfiedLinkError}
   */
  Cuda(boolean present, Supplier<NvidiaDriver> driver) {
    this.present = present;
    this.driver = driver;
  }

  /** Returns true for a libtorch that was built for CUDA. */
  boolean present() {
    return present;
  }

  /**
   * Returns the GPUs that {@code CUDA_VISIBLE_DEVICES} leaves.
   *
   * @return 1 or more, in CUDA's order
   * @throws IllegalArgumentException with the reason why there is none, and what to do
   */
  List<Gpu> gpus() {
    if (!present) {
      throw new IllegalArgumentException(
          "libtorch on the class path is for the processor: build with -Ppytorch-cuda"
              + " (VERTIGRAD_PROFILE=pytorch-cuda) for a GPU, or leave it out");
    }
    try {
      List<Gpu> found = driver.get().gpus();
      if (found.isEmpty()) {
        throw none("it has none");
      }
      return found;
    } catch (UnsatisfiedLinkError e) {
      throw none("there is no NVIDIA driver");
    } catch (IllegalStateException e) {
      throw none(e.getMessage());
    }
  }

  /**
   * Checks that a device exists. Natives for CUDA need a driver even for the processor.
   *
   * @return the GPUs that the device stands for: the one that it names, all if it names none; empty
   *     for the processor
   * @throws IllegalArgumentException with the reason why it does not exist, and what to do
   */
  List<Gpu> check(Device device) {
    List<Gpu> found = device.gpu() || present ? gpus() : List.of();
    if (!device.gpu()) {
      return List.of();
    }
    int number = device.number().orElse(0);
    if (number >= found.size()) {
      throw new IllegalArgumentException(
          "this machine has %s, expected %s"
              .formatted(
                  counted(found.size()),
                  found.size() == 1 ? "cuda" : "cuda:0 to cuda:" + (found.size() - 1)));
    }
    return device.number().isPresent() ? List.of(found.get(number)) : found;
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
}
