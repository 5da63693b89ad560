/** Strategies for workers that have data of their own, and for some that send wrong updates. */
module io.vertigrad.federated {
  requires transitive io.vertigrad.verticles;

  provides io.vertigrad.strategy.StrategyProvider with
      io.vertigrad.federated.FederatedProvider;
}
