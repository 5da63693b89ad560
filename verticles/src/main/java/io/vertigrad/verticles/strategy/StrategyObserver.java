package io.vertigrad.verticles.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;

/** Is told what became of every update; called on the strategy's thread, must not block. */
public interface StrategyObserver {

  /** An update was answered. */
  void answered(ExchangeId id, Outcome outcome, int staleness);

  /** An update or a round was turned away, with a reason for the person. */
  void refused(ExchangeId id, String why);

  /** Tells nobody. */
  StrategyObserver SILENT =
      new StrategyObserver() {
        @Override
        public void answered(ExchangeId id, Outcome outcome, int staleness) {}

        @Override
        public void refused(ExchangeId id, String why) {}
      };
}
