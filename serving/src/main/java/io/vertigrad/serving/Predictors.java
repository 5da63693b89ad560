package io.vertigrad.serving;

import io.vertigrad.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The predictors of a job that were deployed together. Any thread may use it.
 *
 * <pre>{@code
 * TrainingJob.of(config).deploy(vertx);
 * Predictors.deploy(vertx, config);
 * }</pre>
 */
public final class Predictors {

  private final Vertx vertx;
  private final List<String> ids;
  private final Optional<String> url;

  private Predictors(Vertx vertx, List<String> ids, Optional<String> url) {
    this.vertx = vertx;
    this.ids = ids;
    this.url = url;
  }

  /**
   * Deploys {@code serving.count} predictors, at least one. The job may begin later.
   *
   * @param vertx a node of the job's cluster
   * @param job the job that they follow, or whose {@code serving.file} they hold
   * @return completes when their models are built; fails with the first reason why one could not be
   *     deployed, and then leaves none
   */
  public static Future<Predictors> deploy(Vertx vertx, JobConfig job) {
    List<PredictorVerticle> verticles = new ArrayList<>();
    List<Future<String>> deployed = new ArrayList<>();
    for (int i = 0; i < Math.max(1, job.serving().count()); i++) {
      PredictorVerticle verticle = new PredictorVerticle();
      verticles.add(verticle);
      deployed.add(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(job.json())));
    }
    return Future.join(deployed)
        .map(
            all ->
                new Predictors(
                    vertx, deployed.stream().map(Future::result).toList(), verticles.get(0).url()))
        .recover(
            why ->
                undeploy(vertx, deployed.stream().filter(Future::succeeded).toList())
                    .transform(gone -> Future.failedFuture(why)));
  }

  private static Future<Void> undeploy(Vertx vertx, List<Future<String>> deployed) {
    return Future.join(deployed.stream().map(id -> vertx.undeploy(id.result())).toList())
        .mapEmpty();
  }

  /**
   * Returns the address of the model over HTTP.
   *
   * @return such as {@code http://127.0.0.1:8351/v2/models/digits}; empty without {@code
   *     serving.port}
   */
  public Optional<String> url() {
    return url;
  }

  /**
   * Undeploys the predictors.
   *
   * @return completes when nothing listens any more
   */
  public Future<Void> undeploy() {
    return Future.join(ids.stream().map(vertx::undeploy).toList()).mapEmpty();
  }
}
