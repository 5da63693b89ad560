package io.vertigrad.internal.job;

import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;

/** Reads the job that a verticle takes part in from its configuration. */
public final class VerticleJob {

  private static final String ORIGIN = "-conf";

  private VerticleJob() {}

  /**
   * Reads and checks a verticle's configuration, which is a job file. If a length in epochs is not
   * resolved yet, it opens the training set on a worker thread to count it. The command {@code
   * train} does that before it starts any member.
   *
   * @return fails with the first error in the file, or in the data set
   */
  public static Future<JobConfig> read(Vertx vertx, JsonObject config) {
    JobConfig job = JobConfig.read(ORIGIN, config);
    return protect(vertx, job)
        .compose(
            safe ->
                job.isCounted()
                    ? Future.succeededFuture(job)
                    : vertx.executeBlocking(
                        () -> job.counted(VerticleJob.class.getClassLoader()), false));
  }

  /**
   * Requires proofs for the job's messages, with the secret in the file that the job names. Does
   * nothing in a Vert.x without a cluster, because no other process sends messages to it.
   *
   * @return fails when the file contains no valid secret, or {@code vertigrad-cluster} is missing
   */
  public static Future<Void> protect(Vertx vertx, JobConfig job) {
    JobSecrets secrets = JobSecrets.of(vertx);
    if (!vertx.isClustered() || secrets.has(job.addresses())) {
      return Future.succeededFuture();
    }
    Optional<String> file = job.cluster().secretFile();
    if (file.isEmpty()) {
      secrets.warnMissingSecret(job.addresses());
      return Future.succeededFuture();
    }
    return vertx
        .executeBlocking(() -> JobSecret.read(Path.of(file.get())), false)
        .map(
            secret -> {
              secrets.add(job.addresses(), secret);
              return null;
            });
  }
}
