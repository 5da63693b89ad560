package io.vertigrad.strategy;

import java.util.List;

/**
 * The workers of one membership epoch, as one of them sees them.
 *
 * <p>A worker's <em>position</em> is its place in rank order; positions have no gaps, ranks may.
 *
 * @param epoch membership epoch
 * @param ranks of all workers, this one included, in ascending order
 * @param self this worker's rank
 */
public record PeerGroup(int epoch, List<Integer> ranks, int self) {

  /** Copies the ranks. */
  public PeerGroup {
    ranks = ranks.stream().sorted().toList();
    if (!ranks.contains(self)) {
      throw new IllegalArgumentException(
          "worker %d is not among %s of epoch %d".formatted(self, ranks, epoch));
    }
  }

  /**
   * Number of workers.
   *
   * @return at least 1
   */
  public int size() {
    return ranks.size();
  }

  /**
   * This worker's position, from 0.
   *
   * @return its place in rank order
   */
  public int position() {
    return ranks.indexOf(self);
  }

  /**
   * The rank at a position; positions wrap around.
   *
   * @param position any number; it is taken modulo the number of workers
   * @return the rank of the worker there
   */
  public int rank(int position) {
    return ranks.get(Math.floorMod(position, size()));
  }

  /**
   * The next rank around the ring.
   *
   * @return a rank; the own one in a group of one
   */
  public int right() {
    return rank(position() + 1);
  }

  /**
   * The rank before this one around the ring.
   *
   * @return a rank; the own one in a group of one
   */
  public int left() {
    return rank(position() - 1);
  }
}
