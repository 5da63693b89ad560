package io.vertigrad.launcher.deploy;

import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;

/** Which verticle plays which role. */
public final class RoleVerticles {

  /** The verticle that admits the others and ends the job. */
  public static final String COORDINATOR = "io.vertigrad.verticles.coordinator.CoordinatorVerticle";

  private RoleVerticles() {}

  /** The class that plays a role. */
  public static String className(Role role) {
    return switch (role) {
      case SERVER -> "io.vertigrad.verticles.server.ParameterServerVerticle";
      case WORKER -> "io.vertigrad.verticles.worker.WorkerVerticle";
      case EVALUATOR -> "io.vertigrad.verticles.evaluator.EvaluatorVerticle";
    };
  }

  /** Deploys one verticle with the job as its configuration; completes with its deployment id. */
  public static Future<String> deploy(Vertx vertx, String className, JobConfig job) {
    return vertx.deployVerticle(className, new DeploymentOptions().setConfig(job.json().copy()));
  }
}
