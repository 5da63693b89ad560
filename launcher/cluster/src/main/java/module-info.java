/** The start of a node, with inner classes of Vert.x and Hazelcast. */
module io.vertigrad.cluster {
  requires transitive io.vertigrad.verticles;
  requires com.hazelcast.core;
  requires io.netty.buffer;
  requires io.netty.common;
  requires io.netty.transport;
  requires io.vertx.clustermanager.hazelcast;
  requires java.sql; // Of Hazelcast, an automatic module, which cannot declare it.
  requires org.slf4j;

  exports io.vertigrad.cluster;
  exports io.vertigrad.internal.cluster to
      io.vertigrad.launcher;

  provides io.vertigrad.internal.security.BusAuthentication with
      io.vertigrad.internal.cluster.ProvedBus;
  provides io.vertigrad.internal.worker.StateCopies.Provider with
      io.vertigrad.internal.cluster.MemoryCopies.Provider;
}
