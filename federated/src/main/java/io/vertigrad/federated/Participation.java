package io.vertigrad.federated;

import io.vertigrad.compute.data.SplitMix64;
import java.util.Arrays;
import java.util.BitSet;

/**
 * The workers that take part in each round: as many as the share says, chosen anew for each version
 * from the seed alone, so that workers and servers choose the same ones.
 *
 * @param share of the ranks that takes part, above 0 and at most 1; at least one rank does
 * @param seed of the job
 */
record Participation(double share, long seed) {

  /** Keeps the choice apart from other random numbers of the same seed. */
  private static final long STREAM = 0x70617274L;

  /** Returns whether every rank takes part in every round. */
  boolean isFull() {
    return share >= 1;
  }

  /** Returns how many of a number of ranks take part in a round. */
  int of(int ranks) {
    return isFull() ? ranks : (int) Math.max(1, Math.round(share * ranks));
  }

  /**
   * Returns the ranks that take part in the round of a version.
   *
   * @param ranks number of ranks of the job
   */
  BitSet chosen(long version, int ranks) {
    BitSet chosen = new BitSet(ranks);
    if (isFull()) {
      chosen.set(0, ranks);
    } else {
      int[] order = new SplitMix64(STREAM, seed, version).permutation(ranks);
      Arrays.stream(order).limit(of(ranks)).forEach(chosen::set);
    }
    return chosen;
  }
}
