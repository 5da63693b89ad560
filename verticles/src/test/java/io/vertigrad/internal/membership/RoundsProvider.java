package io.vertigrad.internal.membership;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** A strategy that moves in rounds and combines nothing, for tests of membership. */
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
