package io.vertigrad.verticles.coordinator;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** A strategy that moves in rounds and combines nothing, for tests of who takes part. */
public final class RoundsProvider implements StrategyProvider {

  @Override
  public String name() {
    return "rounds";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    return StrategyFactory.inRounds(
        context -> {
          throw new UnsupportedOperationException("combines nothing");
        });
  }
}
