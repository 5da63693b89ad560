package io.vertigrad.examples.besideverticles;

import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;

/** A whole job deployed by hand, with no launcher, no cluster and no job file. */
public final class EmbeddedTraining {

  private EmbeddedTraining() {}

  /** Trains on generated digits and prints how the job ended. */
  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    train(vertx, job())
        .onSuccess(end -> System.out.println(end.encodePrettily()))
        .onFailure(problem -> System.err.println(problem.getMessage()))
        .onComplete(ended -> vertx.close());
  }

  static JsonObject job() {
    return new JsonObject()
        .put("job", "by-hand")
        .put("steps", 200)
        .put("optimizer", new JsonObject().put("learningRate", 0.1))
        .put("workers", new JsonObject().put("count", 2).put("batch", 64));
  }

  /** Deploys every role; completes with the job's end. */
  static Future<JsonObject> train(Vertx vertx, JsonObject job) {
    CoordinatorVerticle coordinator = new CoordinatorVerticle();
    return deploy(vertx, coordinator, job)
        .compose(
            first ->
                Future.all(
                    deploy(vertx, new ParameterServerVerticle(), job),
                    deploy(vertx, new WorkerVerticle(), job),
                    deploy(vertx, new WorkerVerticle(), job),
                    deploy(vertx, new EvaluatorVerticle(), job)))
        .compose(members -> coordinator.result())
        .eventually(() -> coordinator.stop("the job is over"));
  }

  private static Future<String> deploy(Vertx vertx, Deployable role, JsonObject job) {
    return vertx.deployVerticle(role, new DeploymentOptions().setConfig(job));
  }
}
