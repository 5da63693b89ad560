package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link AllReduceStrategy} as {@code allreduce}. */
public final class AllReduceStrategyProvider implements StrategyProvider {

  @Override
  public String name() {
    return "allreduce";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    AllReduceStrategyConfig config = AllReduceStrategyConfig.read(settings);
    return new Factory(config);
  }

  private record Factory(AllReduceStrategyConfig config) implements PeerStrategyFactory {

    @Override
    public PeerStrategy create(PeerContext context) {
      return new AllReduceStrategy(config, context);
    }

    @Override
    public long agreesEvery() {
      return 1;
    }

    /** Gradients travel, and error feedback makes up for what was left out of them. */
    @Override
    public boolean compresses() {
      return true;
    }
  }
}
