package io.vertigrad.launcher.deploy;

import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.strategy.StrategyProviders;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;

/** Which verticle plays which role, and how many of each a job asks for. */
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

  /** How many a job starts with. */
  public static int count(JobConfig job, Role role) {
    return switch (role) {
      case SERVER ->
          StrategyProviders.configure(job.strategy(), RoleVerticles.class.getClassLoader())
              .servers(job.servers().count());
      case WORKER -> job.workers().count();
      case EVALUATOR -> job.evaluator().count();
    };
  }

  /** Deploys one verticle with the job as its configuration; completes with its deployment id. */
  public static Future<String> deploy(Vertx vertx, String className, JobConfig job) {
    return vertx.deployVerticle(className, new DeploymentOptions().setConfig(job.json().copy()));
  }
}
