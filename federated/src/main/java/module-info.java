import io.vertigrad.federated.FederatedProvider;
import io.vertigrad.federated.RobustStrategy;
import io.vertigrad.strategy.StrategyProvider;

/** Strategies for workers that have data of their own, and for some that send wrong updates. */
module io.vertigrad.federated {
  requires transitive io.vertigrad.verticles;

  provides StrategyProvider with
      FederatedProvider,
      RobustStrategy;
}
