package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link RingAllReduce} as {@code allreduce}. */
public final class RingAllReduceProvider implements StrategyProvider {

  @Override
  public String name() {
    return "allreduce";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    RingAllReduceConfig config = RingAllReduceConfig.read(settings);
    return new Factory(config);
  }

  private record Factory(RingAllReduceConfig config) implements PeerStrategyFactory {

    @Override
    public PeerStrategy create(PeerContext context) {
      return new RingAllReduce(config, context);
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
