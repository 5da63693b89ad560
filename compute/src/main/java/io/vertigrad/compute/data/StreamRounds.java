package io.vertigrad.compute.data;

/**
 * The division of a stream with an end into rounds, in which each rank takes one batch. All rounds
 * are full but the last one. It takes what is left if that suffices for a sample per rank;
 * otherwise the last full round takes it as well.
 *
 * @param samples number of samples, at least one per rank
 * @param ranks number of ranks
 * @param batch number of samples in a full batch
 */
public record StreamRounds(long samples, int ranks, int batch) {

  /** Checks that each rank has a sample. */
  public StreamRounds {
    if (ranks < 1 || batch < 1 || samples < ranks) {
      throw new IllegalArgumentException(
          "%s samples for %s workers with batches of %s: expected a sample for each worker"
              .formatted(samples, ranks, batch));
    }
  }

  /**
   * Returns the number of rounds, which is the number of each worker's steps.
   *
   * @return at least 1
   */
  public long rounds() {
    long full = samples / full();
    return full == 0 || samples % full() >= ranks ? full + 1 : full;
  }

  /**
   * Returns the index of the first sample of a rank in a round. A rank's samples end where those of
   * the next rank begin.
   *
   * @param round from 0
   * @param rank from 0; the number of ranks for the end of the round
   * @return an index, from 0
   */
  public long first(long round, int rank) {
    long begin = round * full();
    if (round < rounds() - 1) {
      return begin + (long) rank * batch;
    }
    long left = samples - begin;
    return begin + left / ranks * rank + Math.min(rank, left % ranks);
  }

  private long full() {
    return (long) ranks * batch;
  }
}
