package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;

/**
 * Is told by the filter for stale and repeated updates what became of every update; called on the
 * strategy's thread, must not block.
 */
public interface StrategyObserver {

  /**
   * An update was answered with parameters.
   *
   * @param id of the update
   * @param outcome what became of it
   * @param staleness versions that it was behind
   */
  void answered(ExchangeId id, Outcome outcome, int staleness);

  /**
   * An update was turned away for good, with a reason for the person; "try again" is not told.
   *
   * @param id of the update
   * @param why the refusal's message
   */
  void refused(ExchangeId id, String why);

  /**
   * An update was turned away because its worker's rank is another's by now, which repeats the
   * step: nothing is wrong.
   *
   * @param id of the update
   * @param why the refusal's message
   */
  void outdated(ExchangeId id, String why);

  /** Tells nobody. */
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
