package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
    if (!place.isGpu()) {
      Processor.prepare();
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

  /** What oneDNN computes in bfloat16 on this processor; its class is initialised once. */
  private static final class Processor {

    private static final Logger LOG = LoggerFactory.getLogger(Autocast.class);

    /** Rounding changes a result by less than 0.01 of its length. */
    private static final double ROUNDED = 0.1;

    static {
      double distance = distance();
      if (!(distance < ROUNDED)) {
        LOG.warn(
            "oneDNN's convolution in bfloat16 is wrong on this processor, by {} of its result:"
                + " this process computes without oneDNN, more slowly",
            String.format(Locale.ROOT, "%.2f", distance));
        torch.globalContext().setUserEnabledMkldnn(false);
      }
    }

    private Processor() {}

    /** Runs the static initialiser before the first pass in bfloat16. */
    static void prepare() {}

    /** Returns how far a convolution to 3 channels in bfloat16 is from that in float32. */
    @SuppressWarnings("try")
    private static double distance() {
      try (PointerScope temporary = new PointerScope();
          NoGradGuard noGradients = new NoGradGuard()) {
        Tensor image = torch.linspace(new Scalar(0), new Scalar(1), 8 * 28 * 28).view(8, 1, 28, 28);
        Tensor weights = torch.linspace(new Scalar(-1), new Scalar(1), 3 * 3 * 3).view(3, 1, 3, 3);
        Tensor exact = torch.conv2d(image, weights);
        Tensor rounded =
            torch
                .conv2d(image.to(ScalarType.BFloat16), weights.to(ScalarType.BFloat16))
                .to(ScalarType.Float);
        return exact.sub(rounded).norm().item_double() / exact.norm().item_double();
      }
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
