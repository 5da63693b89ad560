package io.vertigrad.strategy;

import java.util.List;

/**
 * The workers of one membership epoch, seen from one of them.
 *
 * <p>A worker's <em>position</em> is its place in rank order. Positions have no gaps; ranks may
 * have gaps.
 *
 * @param epoch membership epoch
 * @param ranks of all workers, this one included, in ascending order
 * @param self this worker's rank
 */
public record PeerGroup(int epoch, List<Integer> ranks, int self) {

  /**
   * Sorts the ranks and checks that this worker is among them.
   *
   * @param epoch membership epoch
   * @param ranks of all workers, in any order
   * @param self this worker's rank
   * @throws IllegalArgumentException when {@code self} is not among them
   */
  public PeerGroup {
    ranks = ranks.stream().sorted().toList();
    if (!ranks.contains(self)) {
      throw new IllegalArgumentException(
          "worker %s is not among %s of epoch %s".formatted(self, ranks, epoch));
    }
  }

  /**
   * Returns the number of workers.
   *
   * @return at least 1
   */
  public int size() {
    return ranks.size();
  }

  /**
   * Returns this worker's position.
   *
   * @return from 0
   */
  public int position() {
    return ranks.indexOf(self);
  }

  /**
   * Returns the rank at a position.
   *
   * @param position any number; positions wrap around
   * @return the rank
   */
  public int rank(int position) {
    return ranks.get(Math.floorMod(position, size()));
  }

  /**
   * Returns the next rank around the ring.
   *
   * @return the rank at the next position
   */
  public int right() {
    return rank(position() + 1);
  }

  /**
   * Returns the rank before this one around the ring.
   *
   * @return the rank at the position before
   */
  public int left() {
    return rank(position() - 1);
  }
}
