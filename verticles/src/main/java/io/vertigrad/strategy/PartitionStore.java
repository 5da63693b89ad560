package io.vertigrad.strategy;

import io.vertigrad.codecs.Tensor;

/** One partition's parameters and optimizer state, as a strategy sees them. */
public interface PartitionStore {

  /** Number of elements. */
  int length();

  /** Updates applied so far, those included that were passed over. */
  long version();

  /**
   * Moves to a later version without an update: rounds that nobody took part in, or updates that
   * were lost with a crashed server.
   */
  void skipTo(long version);

  /** True when it goes back to a checkpoint, so that workers may have seen later versions. */
  boolean isRestored();

  /**
   * Takes one optimizer step with {@code scale * gradient} and moves to the next version.
   *
   * <p>Statistics take the difference itself: {@code p -= scale * gradient}.
   *
   * @param gradient reduced gradient, {@link #length()} elements; overwritten
   * @param scale factor on it, 1 for a sum, 1/N for a mean
   * @param samples training samples behind it, which move the epoch count
   */
  void apply(float[] gradient, float scale, long samples);

  /** The parameters at the current version, in the job's exchange type; made once per version. */
  Tensor parameters();
}
