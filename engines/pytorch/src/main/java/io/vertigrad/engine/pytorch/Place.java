package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Device;
import java.io.IOException;

/**
 * The device of a module's tensors, and whether Java reads and writes them in place. The module
 * closes its place.
 */
final class Place implements AutoCloseable {

  private final ai.djl.Device device;
  private final boolean shared;
  private final Runnable release;

  private Place(ai.djl.Device device, boolean shared, Runnable release) {
    this.device = device;
    this.shared = shared;
    this.release = release;
  }

  /** Returns a place in the processor's memory that Java reads and writes directly. */
  static Place shared() {
    return new Place(ai.djl.Device.cpu(), true, () -> {});
  }

  /**
   * Returns a place in the processor's memory that is read and written by copies as on a GPU; for
   * tests.
   */
  static Place copied() {
    return new Place(ai.djl.Device.cpu(), false, () -> {});
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
      return new Place(ai.djl.Device.gpu(device.number().getAsInt()), false, () -> {});
    }
    try {
      GpuLease lease = GpuLease.take(LibTorch.cache().resolve("vertigrad-gpus"), cuda.count());
      return new Place(ai.djl.Device.gpu(lease.gpu()), false, lease::close);
    } catch (IOException e) {
      throw new IllegalArgumentException("device cuda: no GPU could be chosen: " + e, e);
    }
  }

  ai.djl.Device device() {
    return device;
  }

  boolean isShared() {
    return shared;
  }

  @Override
  public void close() {
    release.run();
  }
}
