package io.vertigrad.strategy;

import io.vertigrad.compute.settings.Settings;

/** A strategy that is not registered and is found only by its class name; it does nothing. */
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
