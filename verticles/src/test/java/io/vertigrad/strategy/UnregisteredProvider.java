package io.vertigrad.strategy;

import io.vertigrad.compute.settings.Settings;

/** A strategy that no jar registers and only its class's name finds; combines nothing. */
public final class UnregisteredProvider implements StrategyProvider {

  @Override
  public String name() {
    return "unregistered";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    settings.refuseUnknown();
    return StrategyFactory.perGradient(
        context -> {
          throw new UnsupportedOperationException("combines nothing");
        });
  }
}
