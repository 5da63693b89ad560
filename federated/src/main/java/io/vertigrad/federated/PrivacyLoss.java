package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.strategy.PartitionStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reports the privacy that each worker has lost so far, as the scalar {@value #EPSILON} of that
 * worker: epsilon for a delta of {@value #DELTA}, by {@link PrivacyAccountant}.
 *
 * <p>The unit is one worker with all of its samples, and the observer is the server, which sees
 * every noisy update by itself and knows who sent it: the local model, without secure aggregation.
 * So a choice of workers per round hides nothing, and its sampling rate is 1: a worker loses
 * privacy in every round that it takes part in, and none in the others. Epsilon compares a run with
 * one in which the worker sends zeros and noise; to compare two different sets of samples of the
 * worker, an update can differ by twice {@code clip}, as with half of the noise.
 *
 * <p>It holds for the updates. Workers also report their number of samples, loss and accuracy,
 * without noise. An update that a worker computes again, after servers went back to a checkpoint,
 * has new noise and is not counted a second time.
 */
final class PrivacyLoss {

  /** Name of the scalar. */
  static final String EPSILON = "privacy.epsilon";

  /** The probability for which epsilon need not hold: below 1 / (10 N) up to 10,000 workers. */
  static final double DELTA = 1e-5;

  private final PrivacyAccountant accountant;
  private final Participation participation;
  private final int ranks;
  private final Map<Integer, Long> rounds = new HashMap<>();
  private long next;

  /**
   * Creates the loss before the first round.
   *
   * @param ranks number of ranks of the job; 0 if it is not known, and all take part
   */
  PrivacyLoss(PrivacyAccountant accountant, Participation participation, int ranks) {
    this.accountant = accountant;
    this.participation = participation;
    this.ranks = ranks;
  }

  /**
   * Reports the loss of the workers whose updates were applied.
   *
   * @param version of the parameters that the updates were computed at
   */
  void report(long version, List<GradientPartition> updates, PartitionStore store) {
    for (GradientPartition update : updates) {
      int rank = update.id().worker();
      store.report(rank, EPSILON, epsilon(rank, version));
    }
  }

  /** Returns epsilon of a rank after the round of a version. */
  double epsilon(int rank, long version) {
    return accountant.epsilon(rounds(rank, version), DELTA);
  }

  /** Returns in how many rounds a rank has taken part, at most one for each version. */
  private long rounds(int rank, long version) {
    if (participation.isFull()) {
      return version + 1;
    }
    if (version < next - 1) {
      rounds.clear();
      next = 0;
    }
    for (; next <= version; next++) {
      participation.chosen(next, ranks).stream()
          .forEach(chosen -> rounds.merge(chosen, 1L, Long::sum));
    }
    return rounds.getOrDefault(rank, 0L);
  }
}
