package io.vertigrad.training;

import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.internal.transport.Streams;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
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

  /**
   * Has every message and every stream of a job be proved with its secret, and refuses what is not.
   * Call it before any verticle of Vertigrad is deployed; verticles whose job file names a {@code
   * cluster.secretFile} do it themselves.
   *
   * @param vertx a clustered Vert.x
   * @param job whose messages
   * @param secret the same in every process of the job
   */
  public static void authenticate(Vertx vertx, JobConfig job, JobSecret secret) {
    JobSecrets.of(vertx).add(job.addresses(), secret);
  }
}
