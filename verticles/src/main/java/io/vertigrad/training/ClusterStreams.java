package io.vertigrad.training;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.internal.transport.Streams;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;

/**
 * Opens the TCP streams that carry tensors between processes, and the memory that processes of one
 * host share. A clustered application calls it once for its {@link Vertx}. Without it, tensors
 * travel as messages of the event bus, which costs more processor time.
 */
public final class ClusterStreams {

  private ClusterStreams() {}

  /**
   * Sends tensors of this {@link Vertx} over streams. The streams listen on the host of the event
   * bus, on ports that the system chooses, with the event bus's TLS settings. Call it before any
   * verticle of Vertigrad is deployed.
   *
   * @param vertx a clustered Vert.x
   * @param bus the options that its event bus was created with
   */
  public static void open(Vertx vertx, EventBusOptions bus) {
    Streams.open(vertx, bus);
  }

  /**
   * Sends tensors of this {@link Vertx} over streams, with the settings of a job.
   *
   * @param vertx a clustered Vert.x
   * @param bus the options that its event bus was created with
   * @param exchange how many streams each listener serves at once, and which memory may be shared
   *     with other processes of this host
   */
  public static void open(Vertx vertx, EventBusOptions bus, ExchangeConfig exchange) {
    Streams.open(vertx, bus, exchange);
  }

  /**
   * Requires a proof with the job's secret for every message and every stream of the job, and
   * refuses all others. Call it before any verticle of Vertigrad is deployed. Verticles whose job
   * file names a {@code cluster.secretFile} do it themselves.
   *
   * @param vertx a clustered Vert.x
   * @param job the job whose messages are proved
   * @param secret the same in every process of the job
   * @throws SettingsException when the artifact {@code vertigrad-cluster} is missing
   */
  public static void authenticate(Vertx vertx, JobConfig job, JobSecret secret) {
    JobSecrets.of(vertx).add(job.addresses(), secret);
  }

  /**
   * Requires proofs with the secret in the job file's {@code cluster.secretFile}. A job without a
   * secret only gets a warning.
   *
   * @param vertx a Vert.x; one without a cluster needs no proofs
   * @param job the job whose messages are proved
   * @return completes when messages are proved; fails when the file contains no valid secret, or
   *     the artifact {@code vertigrad-cluster} is missing
   */
  public static Future<Void> authenticate(Vertx vertx, JobConfig job) {
    return VerticleJob.protect(vertx, job);
  }
}
