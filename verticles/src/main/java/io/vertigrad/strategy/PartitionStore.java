package io.vertigrad.strategy;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;

/** One partition's parameters and optimizer state, as a strategy uses them. */
public interface PartitionStore {

  /**
   * Returns the number of elements.
   *
   * @return at least 1
   */
  int length();

  /**
   * Returns the number of updates applied so far, including skipped versions.
   *
   * @return from 0
   */
  long version();

  /**
   * Moves to a later version without an update: after rounds without an active worker, or when
   * updates were lost with a crashed server.
   *
   * @param version the later version
   */
  void skipTo(long version);

  /**
   * Returns whether the partition was restored from a checkpoint, so that workers may have seen
   * later versions.
   *
   * @return true when it was
   */
  boolean isRestored();

  /**
   * Takes one optimizer step with {@code scale * gradient} and moves to the next version.
   *
   * <p>Statistics are changed by the difference itself: {@code p -= scale * gradient}.
   *
   * @param gradient reduced gradient, {@link #length()} elements; overwritten
   * @param scale factor on it, 1 for a sum, 1/N for a mean
   * @param samples number of training samples behind it, which advance the epoch count
   */
  void apply(float[] gradient, float scale, long samples);

  /**
   * Returns an array of the strategy's own, which checkpoints store along with the optimizer's
   * state. Change it only after {@link #apply} or {@link #keepMemory} in the same call of {@link
   * ServerStrategy#exchange}. Call it once, while the strategy is created; a checkpoint is restored
   * into the same array.
   *
   * @param elements its length
   * @return zeros at first
   * @throws UnsupportedOperationException when this store has no checkpoints
   */
  default float[] memory(int elements) {
    throw new UnsupportedOperationException("this partition stores nothing for its strategy");
  }

  /**
   * Completes a checkpoint that was begun before, so that {@link #memory} may change without an
   * update.
   */
  default void keepMemory() {}

  /**
   * Reports a scalar of this partition at the current version; see {@code Scalars}. The values of
   * one version of all partitions of a server are averaged. The default does nothing.
   *
   * @param name a letter and up to 63 more letters, digits, {@code _}, {@code .} or {@code -}
   * @param value the value; one that is not finite is drawn as a gap
   */
  default void report(String name, double value) {}

  /**
   * Reports a scalar of a worker, such as the distance of its update; the source is the worker.
   *
   * @param rank the worker
   * @param name as in {@link #report(String, double)}
   * @param value the value
   */
  default void report(int rank, String name, double value) {}

  /**
   * Returns a copy of the parameters at the current version, in the job's exchange type.
   *
   * @return an immutable tensor of {@link #length()} elements
   */
  Tensor parameters();

  /**
   * Returns the current parameters for one answer, possibly in memory that is reused once the
   * receiver has given it back.
   *
   * @return a tensor of {@link #length()} elements
   */
  default TensorView lend() {
    return parameters();
  }
}
