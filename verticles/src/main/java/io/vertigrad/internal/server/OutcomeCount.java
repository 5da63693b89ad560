package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import java.util.EnumMap;
import java.util.Map;

/** Counts the outcomes of gradient frames and passes them on to another observer. */
final class OutcomeCount implements StrategyObserver {

  private final StrategyObserver next;
  private final Map<Outcome, Long> answered = new EnumMap<>(Outcome.class);
  private long refused;

  OutcomeCount(StrategyObserver next) {
    this.next = next;
  }

  @Override
  public void answered(ExchangeId id, Outcome outcome, int staleness) {
    answered.merge(outcome, 1L, Long::sum);
    next.answered(id, outcome, staleness);
  }

  @Override
  public void refused(ExchangeId id, String why) {
    refused++;
    next.refused(id, why);
  }

  @Override
  public void outdated(ExchangeId id, String why) {
    refused++;
    next.outdated(id, why);
  }

  ShardCounters counters(long version, long samples) {
    return new ShardCounters(
        version,
        samples,
        of(Outcome.APPLIED),
        of(Outcome.LATE),
        of(Outcome.DUPLICATE),
        of(Outcome.TOO_STALE),
        refused);
  }

  private long of(Outcome outcome) {
    return answered.getOrDefault(outcome, 0L);
  }
}
