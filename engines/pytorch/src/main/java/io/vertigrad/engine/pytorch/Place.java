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
  private final Runnable release;

  private Place(int gpu, boolean shared, Runnable release) {
    this.gpu = gpu;
    this.shared = shared;
    this.release = release;
  }

  /** Returns a place in the processor's memory that Java reads and writes directly. */
  static Place shared() {
    return new Place(PROCESSOR, true, () -> {});
  }

  /**
   * Returns a place in the processor's memory that is read and written by copies as on a GPU; for
   * tests.
   */
  static Place copied() {
    return new Place(PROCESSOR, false, () -> {});
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
      return new Place(device.number().getAsInt(), false, () -> {});
    }
    try {
      GpuLease lease = GpuLease.take(LibTorch.cache().resolve("vertigrad-gpus"), cuda.count());
      return new Place(lease.gpu(), false, lease::close);
    } catch (IOException e) {
      throw new IllegalArgumentException("device cuda: no GPU could be chosen: " + e, e);
    }
  }

  /** Returns the device for libtorch. It belongs to the innermost {@code PointerScope}. */
  org.bytedeco.pytorch.Device device() {
    return isGpu()
        ? new org.bytedeco.pytorch.Device(DeviceType.CUDA, (byte) gpu)
        : new org.bytedeco.pytorch.Device(DeviceType.CPU);
  }

  boolean isGpu() {
    return gpu != PROCESSOR;
  }

  boolean isShared() {
    return shared;
  }

  @Override
  public void close() {
    release.run();
  }
}
