package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.PartitionStore;
import io.vertx.core.Future;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Passes on the updates of the workers that take part in a round. Those of the others, which are
 * zeros, are no updates. After the step it reports the privacy that the workers have lost.
 */
final class ParticipatingUpdates implements Barrier.Reduction {

  private final Participation participation;
  private final int ranks;
  private final Optional<PrivacyLoss> loss;
  private final Barrier.Reduction reduction;

  /**
   * Creates the choice of a partition.
   *
   * @param ranks number of ranks of the job; 0 if it is not known, and all take part
   * @param loss empty if this partition does not report it
   * @param reduction of the updates that count
   */
  ParticipatingUpdates(
      Participation participation,
      int ranks,
      Optional<PrivacyLoss> loss,
      Barrier.Reduction reduction) {
    this.participation = participation;
    this.ranks = ranks;
    this.loss = loss;
    this.reduction = reduction;
  }

  @Override
  public Future<?> prepare(List<GradientPartition> updates, PartitionStore store) {
    return reduction.prepare(chosen(updates, store.version()), store);
  }

  @Override
  public void reduce(List<GradientPartition> updates, PartitionStore store) {
    long version = store.version();
    List<GradientPartition> chosen = chosen(updates, version);
    reduction.reduce(chosen, store);
    loss.ifPresent(each -> each.report(version, chosen, store));
  }

  private List<GradientPartition> chosen(List<GradientPartition> updates, long version) {
    if (participation.isFull()) {
      return updates;
    }
    BitSet ranksOfRound = participation.chosen(version, Math.max(ranks, updates.size()));
    List<GradientPartition> chosen =
        updates.stream().filter(update -> ranksOfRound.get(update.id().worker())).toList();
    // A round has all ranks; in one that has none of the chosen ones all updates are zeros.
    return chosen.isEmpty() ? updates : chosen;
  }
}
