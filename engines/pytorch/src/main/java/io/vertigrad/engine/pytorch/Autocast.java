package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The precision of a forward pass, on the thread that created this object, until it is closed. In
 * bfloat16 libtorch casts the inputs of matrix products and convolutions, and computes operations
 * that need more precision in float32. The backward pass of an operation has the operation's
 * precision.
 */
final class Autocast implements AutoCloseable {

  private static final Autocast FLOAT32 = new Autocast(null);

  /** Null for float32. */
  private final DeviceType device;

  private Autocast(DeviceType device) {
    this.device = device;
  }

  /**
   * Switches the calling thread to a precision. For float32 this does nothing.
   *
   * @param place where the pass computes
   */
  static Autocast to(Precision precision, Place place) {
    if (precision == Precision.FLOAT32) {
      return FLOAT32;
    }
    Autocast autocast = new Autocast(place.isGpu() ? DeviceType.CUDA : DeviceType.CPU);
    // The cache of cast parameters would outlive the change of the parameters.
    LaterFunction.AUTOCAST_CACHE.call(false);
    LaterFunction.AUTOCAST_TYPE.call(autocast.device, ScalarType.BFloat16);
    LaterFunction.AUTOCAST_ENABLED.call(autocast.device, true);
    return autocast;
  }

  /**
   * Checks that the presets on the class path can switch.
   *
   * @throws IllegalArgumentException for presets before 2.10
   */
  static void check() {
    if (!LaterFunction.AUTOCAST_ENABLED.present()) {
      throw new IllegalArgumentException(
          "the presets of this libtorch cannot switch it on: leave it out, or use version 2.10.0 or"
              + " newer (docs/guide/pytorch.md#on-a-gpu)");
    }
  }

  @Override
  public void close() {
    if (device != null) {
      LaterFunction.AUTOCAST_ENABLED.call(device, false);
      LaterFunction.AUTOCAST_CACHE.call(true);
    }
  }
}
