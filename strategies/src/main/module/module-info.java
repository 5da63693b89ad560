/** The built-in strategies, and collective operations for strategies beside workers. */
module io.vertigrad.strategies {
  requires transitive io.vertigrad.verticles;

  exports io.vertigrad.collective;

  provides io.vertigrad.strategy.StrategyProvider with
      io.vertigrad.strategies.SyncGather.Provider,
      io.vertigrad.strategies.AsyncFirstCome.Provider,
      io.vertigrad.strategies.BoundedStaleness.Provider,
      io.vertigrad.strategies.DecentralizedSgd.Provider,
      io.vertigrad.strategies.AllReduceStrategy.Provider,
      io.vertigrad.strategies.LocalSgd.Provider,
      io.vertigrad.strategies.DiLoCo.Provider,
      io.vertigrad.strategies.Gossip.Provider;
}
