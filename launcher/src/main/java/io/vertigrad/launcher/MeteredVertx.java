package io.vertigrad.launcher;

import io.vertigrad.observability.BusTraffic;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;

/** Builds the Vert.x of a process that shows meters: the traffic on its event bus is counted. */
final class MeteredVertx {

  private MeteredVertx() {}

  static VertxBuilder builder() {
    return Vertx.builder().withMetrics(BusTraffic.counting());
  }

  /** Returns a Vert.x without a cluster: everything runs in this JVM and no port is opened. */
  static Vertx alone() {
    return builder().build();
  }
}
