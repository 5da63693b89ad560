package io.vertigrad.serving;

import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.internal.Endpoints;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.util.Optional;
import java.util.UUID;

/**
 * Answers with a model at {@code vertigrad.<job>.predict}, and over HTTP if {@code serving.port} is
 * set. Its configuration is the job file.
 *
 * <p>It follows the newest parameters of the running job, or holds the model in the file {@code
 * serving.file}. It is no member of the job: the job does not wait for it, and it answers with what
 * it has when the job has ended. Several may be deployed, in any JVM of the cluster.
 *
 * <p>Its deployment completes when the model is built. It listens once it has parameters.
 */
public final class PredictorVerticle extends VerticleBase {

  private static final int ID_LENGTH = 8;

  private volatile Endpoints endpoints;

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    String id = UUID.randomUUID().toString().substring(0, ID_LENGTH);
    return ClusterStreams.authenticate(vertx, job)
        .compose(proved -> Endpoints.open(vertx, context, job, id))
        .onSuccess(open -> endpoints = open);
  }

  /**
   * Returns the address of the model over HTTP. It may be called once this verticle is deployed.
   *
   * @return such as {@code http://127.0.0.1:8351/v2/models/digits}; empty without HTTP
   */
  public Optional<String> url() {
    return endpoints.url();
  }

  @Override
  public Future<?> stop() {
    return endpoints == null ? Future.succeededFuture() : endpoints.close();
  }
}
