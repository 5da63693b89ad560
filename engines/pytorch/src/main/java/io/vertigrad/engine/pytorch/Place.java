package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Device;
import java.io.IOException;
import org.bytedeco.pytorch.global.torch.DeviceType;

/**
 * The device of a module's tensors, and whether Java reads and writes them in place. The module
 * closes its place.
 */
final class Place implements AutoCloseable {

  private static final int PROCESSOR = -1;

  private final int gpu;
  private final boolean shared;
  private final boolean tensorLosses;
  private final Runnable release;
  private final Transfers transfers = new Transfers(this);

  private Place(int gpu, boolean shared, boolean tensorLosses, Runnable release) {
    this.gpu = gpu;
    this.shared = shared;
    this.tensorLosses = tensorLosses;
    this.release = release;
  }

  /** Returns a place in the processor's memory that Java reads and writes directly. */
  static Place shared() {
    return new Place(PROCESSOR, true, false, () -> {});
  }

  /** Returns a place like {@link #shared} with the losses that a GPU has; for tests. */
  static Place sharedWithTensorLosses() {
    return new Place(PROCESSOR, true, true, () -> {});
  }

  /**
   * Returns a place in the processor's memory that is read and written by copies as on a GPU; for
   * tests.
   */
  static Place copied() {
    return new Place(PROCESSOR, false, true, () -> {});
  }

  /**
   * Returns a place on a GPU: the one that the device names, or the one with the fewest models.
   *
   * @throws IllegalArgumentException when that GPU does not exist
   */
  static Place on(Device device) {
    Cuda cuda = LibTorch.cuda();
    cuda.check(device);
    if (device.number().isPresent()) {
      return gpu(device.number().getAsInt(), () -> {});
    }
    try {
      GpuLease lease = GpuLease.take(LibTorch.cache().resolve("vertigrad-gpus"), cuda.count());
      return gpu(lease.gpu(), lease::close);
    } catch (IOException e) {
      throw new IllegalArgumentException("device cuda: no GPU could be chosen: " + e, e);
    }
  }

  /** Returns a place on a GPU that is known to exist. */
  static Place gpu(int number, Runnable release) {
    return new Place(number, false, true, release);
  }

  /** Returns the device for libtorch. It belongs to the innermost {@code PointerScope}. */
  org.bytedeco.pytorch.Device device() {
    return isGpu()
        ? new org.bytedeco.pytorch.Device(DeviceType.CUDA, (byte) gpu)
        : new org.bytedeco.pytorch.Device(DeviceType.CPU);
  }

  /** Returns the number of the GPU. */
  int gpu() {
    return gpu;
  }

  boolean isGpu() {
    return gpu != PROCESSOR;
  }

  boolean isShared() {
    return shared;
  }

  /** Returns whether losses are computed there, as operations on tensors, and not in Java. */
  boolean hasTensorLosses() {
    return tensorLosses;
  }

  /** Returns the transfers between Java's memory and this place. */
  Transfers transfers() {
    return transfers;
  }

  @Override
  public void close() {
    release.run();
  }
}
