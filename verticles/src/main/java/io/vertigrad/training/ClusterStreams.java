package io.vertigrad.training;

import io.vertigrad.internal.transport.Streams;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;

/**
 * Opens the TCP streams over which tensors travel between processes. A clustered application calls
 * it once for its {@link Vertx}; without it tensors travel as messages of the event bus, which
 * costs more processor time.
 */
public final class ClusterStreams {

  private ClusterStreams() {}

  /**
   * Lets tensors of this {@link Vertx} travel over streams. The streams listen on the host of the
   * event bus, on ports that the system chooses, with the event bus's TLS settings. Call it before
   * any verticle of Vertigrad is deployed.
   *
   * @param vertx a clustered Vert.x
   * @param bus the options that its event bus was made with
   */
  public static void open(Vertx vertx, EventBusOptions bus) {
    Streams.open(vertx, bus);
  }

  /**
   * Likewise, for a process in which a listener serves a number of streams at most.
   *
   * @param vertx a clustered Vert.x
   * @param bus the options that its event bus was made with
   * @param maxConnections streams that each listener serves at once; others are closed
   */
  public static void open(Vertx vertx, EventBusOptions bus, int maxConnections) {
    Streams.open(vertx, bus, maxConnections);
  }
}
