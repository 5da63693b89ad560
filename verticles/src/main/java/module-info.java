/** The runtime: jobs, strategies, events, and the verticle of each role. */
module io.vertigrad.verticles {
  requires transitive io.reactivex.rxjava3;
  requires transitive io.vertigrad.compute;
  requires transitive org.reactivestreams;
  requires static transitive vertx.rx.java3;
  requires HdrHistogram;
  requires io.netty.buffer;
  requires io.netty.common;
  requires io.netty.transport;
  requires jdk.management;
  requires org.slf4j;

  exports io.vertigrad.events;
  exports io.vertigrad.job;
  exports io.vertigrad.strategy;
  exports io.vertigrad.training;
  exports io.vertigrad.verticles;
  exports io.vertigrad.internal.checkpoint to
      io.vertigrad.cluster,
      io.vertigrad.testkit;
  exports io.vertigrad.internal.exchange to
      io.vertigrad.cluster,
      io.vertigrad.testkit;
  exports io.vertigrad.internal.membership to
      io.vertigrad.cluster,
      io.vertigrad.testkit;
  exports io.vertigrad.internal.security to
      io.vertigrad.cluster;
  exports io.vertigrad.internal.shard to
      io.vertigrad.testkit;
  exports io.vertigrad.internal.transport to
      io.vertigrad.cluster;
  exports io.vertigrad.internal.worker to
      io.vertigrad.cluster;

  uses io.vertigrad.internal.security.BusAuthentication;
  uses io.vertigrad.internal.worker.StateCopies.Provider;
  uses io.vertigrad.strategy.StrategyProvider;
}
