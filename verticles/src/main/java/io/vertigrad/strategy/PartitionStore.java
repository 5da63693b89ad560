package io.vertigrad.strategy;

import io.vertigrad.codecs.Tensor;

/** One partition's parameters and optimizer state, as a strategy sees them. */
public interface PartitionStore {

  /**
   * Number of elements.
   *
   * @return elements of the partition
   */
  int length();

  /**
   * Updates applied so far, those included that were passed over.
   *
   * @return the version, from 0
   */
  long version();

  /**
   * Moves to a later version without an update: rounds that nobody took part in, or updates that
   * were lost with a crashed server.
   *
   * @param version at least the current one
   */
  void skipTo(long version);

  /**
   * True when it goes back to a checkpoint, so that workers may have seen later versions.
   *
   * @return true after a restart from a checkpoint
   */
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

  /**
   * The parameters at the current version, in the job's exchange type; made once per version.
   *
   * @return as many elements as {@link #length()}; not to be changed
   */
  Tensor parameters();
}
