package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Device;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
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
    return copied(() -> {});
  }

  /** Returns a place like {@link #copied()} that runs something when it is closed; for tests. */
  static Place copied(Runnable release) {
    return new Place(PROCESSOR, false, true, release);
  }

  /**
   * Returns a place on a GPU: the one that the device names, or the one with the fewest models.
   *
   * @param model its name
   * @throws IllegalArgumentException when that GPU does not exist, or libtorch has no code for it
   */
  static Place on(Device device, String model) {
    List<Gpu> gpus = LibTorch.cuda().check(device);
    if (device.number().isPresent()) {
      return on(gpus.get(0), model, () -> {});
    }
    try {
      GpuLease lease = GpuLease.take(LibTorch.cache().resolve("vertigrad-gpus"), gpus.size());
      return on(gpus.get(lease.gpu()), model, lease::close);
    } catch (IOException e) {
      throw new IllegalArgumentException("device cuda: no GPU could be chosen: " + e, e);
    }
  }

  /** Returns a place on a GPU that is known to exist. */
  static Place gpu(int number, Runnable release) {
    return new Place(number, false, true, release);
  }

  private static Place on(Gpu gpu, String model, Runnable release) {
    try {
      GpuCheck.HERE.require(List.of(gpu));
    } catch (IllegalArgumentException unusable) {
      release.run();
      throw unusable;
    }
    NvidiaManagement.HERE.find(gpu.number());
    GpuModels.HERE.opened(gpu.number(), model);
    AtomicBoolean open = new AtomicBoolean(true);
    return gpu(
        gpu.number(),
        () -> {
          if (open.getAndSet(false)) {
            release.run();
            GpuModels.HERE.closed(gpu.number(), model);
          }
        });
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

  /** Returns the names of this process's models on the same GPU; none on the processor. */
  List<String> models() {
    return GpuModels.HERE.on(gpu);
  }

  @Override
  public void close() {
    release.run();
  }
}
