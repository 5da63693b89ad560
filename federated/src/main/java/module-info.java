import io.vertigrad.federated.FederatedProvider;
import io.vertigrad.federated.RobustStrategy;
import io.vertigrad.strategy.StrategyProvider;

/** Strategies for workers that have data of their own, and for some that send wrong updates. */
module io.vertigrad.federated {
  requires io.vertigrad.strategies;
  requires transitive io.vertigrad.verticles;

  provides StrategyProvider with
      io.vertigrad.federated.ClippedGossip.Provider,
      FederatedProvider,
      RobustStrategy;
}
