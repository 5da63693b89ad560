package io.vertigrad.examples.ownstrategy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Trains with two good workers and a broken one, once with the plain mean and once with the trimmed
 * mean.
 */
public final class BadWorker {

  private static final String BROKEN_GAIN = "-50";

  private final Vertx vertx;
  private final JsonObject job;

  BadWorker(Vertx vertx, JsonObject job) {
    this.vertx = vertx;
    this.job = job;
  }

  /** Prints the accuracy of both strategies. */
  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    new JobRequest("examples/own-strategy/job.json")
        .read(vertx)
        .map(JobConfig::json)
        .compose(
            job -> report(vertx, job, "sync").compose(next -> report(vertx, job, "trimmed-mean")))
        .onFailure(problem -> System.err.println(problem.getMessage()))
        .onComplete(ended -> vertx.close());
  }

  private static Future<Void> report(Vertx vertx, JsonObject job, String strategy) {
    return new BadWorker(vertx, job.copy().put("strategy", JsonObject.of("name", strategy)))
        .train()
        .onSuccess(end -> System.out.printf("%-13s %s%n", strategy, summary(end)))
        .mapEmpty();
  }

  /**
   * Trains once. It deploys one member after the other, so that ranks, and therefore results,
   * repeat. It completes with the job's end as {@link CoordinatorVerticle#result()} reports it.
   */
  Future<JsonObject> train() {
    JsonObject broken = job.copy();
    broken.getJsonObject("data").put("directory", brokenCamera().toString());
    CoordinatorVerticle coordinator = new CoordinatorVerticle();
    return deploy(coordinator, job)
        .compose(
            id ->
                deploy(new ParameterServerVerticle(), job)
                    .compose(server -> deploy(new EvaluatorVerticle(), job))
                    .compose(evaluator -> deploy(new WorkerVerticle(), job))
                    .compose(rank0 -> deploy(new WorkerVerticle(), job))
                    .compose(rank1 -> deploy(new WorkerVerticle(), broken))
                    .compose(rank2 -> coordinator.result())
                    .eventually(() -> coordinator.stop("the comparison goes on"))
                    .eventually(() -> vertx.undeploy(id)));
  }

  /** Returns the data folder of a machine whose camera is broken. */
  private static Path brokenCamera() {
    try {
      Path folder = Files.createTempDirectory("broken-camera-");
      folder.toFile().deleteOnExit();
      Path gain = Files.writeString(folder.resolve("gain"), BROKEN_GAIN);
      gain.toFile().deleteOnExit();
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Future<String> deploy(Deployable verticle, JsonObject config) {
    return vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(config));
  }

  private static String summary(JsonObject end) {
    JsonObject tested = end.getJsonObject("evaluation");
    return tested == null
        ? end.getString("state") + ": " + end.getString("failure")
        : String.format(
            Locale.ROOT,
            "%.1f %% right on %d test images",
            tested.getDouble("accuracy"),
            tested.getInteger("samples"));
  }
}
