package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.Optional;

/** An endless sequence of training batches, epoch after epoch. */
public interface BatchSource extends AutoCloseable {

  /**
   * Returns the next batch; waits for the prefetching thread if necessary.
   *
   * @return the batch, which belongs to the caller
   */
  Batch next();

  /** Returns the batch that {@link #next} returns next; empty if that would wait for it. */
  default Optional<Batch> peek() {
    return Optional.empty();
  }

  /**
   * Returns how long a sample of the newest batch took to read, in nanoseconds, without waiting for
   * anything else; 0 where it is unknown.
   */
  default double nanosPerSample() {
    return 0;
  }

  @Override
  void close();
}
