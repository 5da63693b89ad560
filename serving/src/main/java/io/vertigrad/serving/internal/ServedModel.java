package io.vertigrad.serving.internal;

import io.vertigrad.training.NewestParameters.Version;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * One set of parameters, in a model that computes. Belongs to the thread that opened it, except
 * {@link #wake}.
 */
interface ServedModel extends AutoCloseable {

  /** Opens a set of parameters on the calling thread. */
  @FunctionalInterface
  interface Opening {
    ServedModel open();
  }

  /** Returns the form of samples and outputs. */
  SampleFormat format();

  /**
   * Loads parameters that are newer than a version. May block.
   *
   * @param after version that is served now; -1 for none
   * @return empty if there are none now
   */
  Optional<Version> load(long after, BooleanSupplier stop);

  /**
   * Returns the wall-clock time at which the loaded parameters were the newest, in milliseconds
   * since 1970.
   */
  long loadedMillis();

  /** Returns the outputs of these samples. */
  float[] outputs(int count, float[] inputs);

  /** Reports that what {@link #load} returned is in use, or is not wanted. */
  default void done() {}

  /** Returns whether {@link #load} should be called at once, because the job has finished. */
  default boolean isAwaited() {
    return false;
  }

  /** Makes {@link #load} ask again whether to stop. Any thread. */
  void wake();

  @Override
  void close();
}
