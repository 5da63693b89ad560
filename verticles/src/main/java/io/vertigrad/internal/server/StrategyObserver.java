package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;

/**
 * Receives the outcome of every update from the filter for stale and repeated updates; called on
 * the strategy's thread, must not block.
 */
public interface StrategyObserver {

  /**
   * Called when an update was answered with parameters.
   *
   * @param id of the update
   * @param outcome of the update
   * @param staleness how many versions it was behind
   */
  void answered(ExchangeId id, Outcome outcome, int staleness);

  /**
   * Called when an update was refused for good; not called for "try again".
   *
   * @param id of the update
   * @param why the refusal's message, for people
   */
  void refused(ExchangeId id, String why);

  /**
   * Called when an update was refused because another worker has its rank by now and repeats the
   * step; this is not an error.
   *
   * @param id of the update
   * @param why the refusal's message
   */
  void outdated(ExchangeId id, String why);

  /** Ignores everything. */
  StrategyObserver SILENT =
      new StrategyObserver() {
        @Override
        public void answered(ExchangeId id, Outcome outcome, int staleness) {}

        @Override
        public void refused(ExchangeId id, String why) {}

        @Override
        public void outdated(ExchangeId id, String why) {}
      };
}
