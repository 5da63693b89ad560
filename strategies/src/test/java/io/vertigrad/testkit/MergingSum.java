package io.vertigrad.testkit;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits.Rounds;

/**
 * Rounds of a quorum that late updates join, as {@code diloco} has them with servers, but with the
 * sum of the updates, so that the simulator counts how often each was applied.
 */
public final class MergingSum implements StrategyProvider {

  /** Creates the provider, which is named by its class. */
  public MergingSum() {}

  @Override
  public String name() {
    return "merging-sum";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    settings.string("name", "");
    int quorum = settings.integer("quorum", 2, 1, 100);
    long grace = settings.longInteger("graceMillis", 0, 0, 100_000);
    settings.refuseUnknown();
    return StrategyFactory.besideServers(
        Rounds.SOME_RANKS,
        context ->
            Barrier.merging("merging-sum", quorum, grace, Barrier.DEADLINE_MILLIS, context, false));
  }
}
