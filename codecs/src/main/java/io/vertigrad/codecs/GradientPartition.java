package io.vertigrad.codecs;

import java.util.Objects;

/**
 * One worker's gradient of one partition, sent to a strategy.
 *
 * @param id identity of the exchange; the same on every retry
 * @param layout hash of the parameter layout, see {@code ParameterLayout.hash()}
 * @param version version of the partition at which the gradient was computed
 * @param samples number of training samples that the gradient is the mean of, at least 1
 * @param firstElement index of the partition's first element in the exchange vector
 * @param gradient mean gradient over those samples; at most one frame
 */
public record GradientPartition(
    ExchangeId id, long layout, long version, int samples, long firstElement, TensorView gradient)
    implements Frame {

  /** Checks that a frame can carry the numbers. */
  public GradientPartition {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("version", version, 0);
    FrameLimits.requireAtLeast("samples", samples, 1);
    FrameLimits.requireAtLeast("firstElement", firstElement, 0);
    FrameLimits.requireFits("gradient", gradient);
  }

  @Override
  public GradientPartition retain() {
    return gradient instanceof BorrowedTensor ? with(gradient.retain()) : this;
  }

  /**
   * Returns this update with its gradient in other memory.
   *
   * @param same a tensor with equal elements
   * @return a copy that shares all other fields
   */
  public GradientPartition with(TensorView same) {
    return new GradientPartition(id, layout, version, samples, firstElement, same);
  }
}
