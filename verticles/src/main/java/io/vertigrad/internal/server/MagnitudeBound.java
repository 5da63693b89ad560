package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.job.ExchangeConfig;

/**
 * Refuses gradients with elements that are NaN, infinite, or larger in magnitude than the job
 * allows: one such element would ruin all parameters for good.
 *
 * @param largest greatest magnitude that is applied, finite and above 0
 */
public record MagnitudeBound(float largest) {

  /** A bound that admits every finite element. */
  public static final MagnitudeBound NONE = new MagnitudeBound(Float.MAX_VALUE);

  public MagnitudeBound {
    if (!(largest > 0) || Float.isInfinite(largest)) {
      throw new IllegalArgumentException(
          "the largest magnitude is %s, expected a finite number above 0".formatted(largest));
    }
  }

  /** Returns the bound of a job file's section {@code exchange}. */
  static MagnitudeBound of(ExchangeConfig exchange) {
    return new MagnitudeBound(exchange.maxMagnitude());
  }

  /** Checks every element once. */
  boolean admits(TensorView gradient) {
    return gradient.isWithin(largest);
  }

  /** Returns the refusal for the sender of a gradient that is not admitted. */
  Refusal refusal(ExchangeId id, TensorView gradient) {
    String found =
        gradient.isFinite()
            ? "an element beyond %s (exchange.maxMagnitude)".formatted(largest)
            : "NaN or infinity";
    return new Refusal(
        id,
        Reason.NOT_FINITE,
        "partition %d: the gradient of worker %d, step %d holds %s; not applied"
            .formatted(id.partition(), id.worker(), id.step(), found));
  }
}
