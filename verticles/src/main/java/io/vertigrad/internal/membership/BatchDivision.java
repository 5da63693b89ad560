package io.vertigrad.internal.membership;

import java.util.List;

/**
 * The division of the samples of a round among the ranks, for a range of rounds.
 *
 * @param from first round, the version of its parameters
 * @param until the round after the last one
 * @param shares samples of a round by rank, each at least 1
 */
public record BatchDivision(long from, long until, List<Integer> shares) {

  public BatchDivision {
    shares = List.copyOf(shares);
    if (from < 0 || until <= from || shares.stream().anyMatch(share -> share < 1)) {
      throw new IllegalArgumentException(
          "rounds %s to %s with shares %s, expected rounds in order and shares of at least 1"
              .formatted(from, until, shares));
    }
  }

  /** Returns whether a round has this division. */
  public boolean covers(long round) {
    return round >= from && round < until;
  }

  /** Returns whether this divides a number of samples among a number of ranks. */
  boolean divides(int samples, int ranks) {
    return shares.size() == ranks && shares.stream().mapToInt(Integer::intValue).sum() == samples;
  }
}
