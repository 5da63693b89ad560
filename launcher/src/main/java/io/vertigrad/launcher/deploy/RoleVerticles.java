package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Locale;

/** Which verticle plays which role. */
public final class RoleVerticles {

  /** The verticle that admits the others and ends the job. */
  public static final String COORDINATOR = "io.vertigrad.verticles.CoordinatorVerticle";

  /** What a worker of a job with a pipeline is called. */
  public static final String STAGE = "stage";

  private RoleVerticles() {}

  /** How a role is called in a job: its workers are stages where there is a pipeline. */
  public static String name(JobConfig job, Role role) {
    return role == Role.WORKER && job.pipeline().isPresent() ? STAGE : role.lower();
  }

  /** The role that a name stands for. */
  public static Role named(String name) {
    return name.equals(STAGE) ? Role.WORKER : Role.valueOf(name.toUpperCase(Locale.ROOT));
  }

  /** The class that plays a role in a job. */
  public static String className(JobConfig job, Role role) {
    return switch (role) {
      case SERVER -> "io.vertigrad.verticles.ParameterServerVerticle";
      case WORKER ->
          job.pipeline().isPresent()
              ? "io.vertigrad.verticles.StageVerticle"
              : "io.vertigrad.verticles.WorkerVerticle";
      case EVALUATOR -> "io.vertigrad.verticles.EvaluatorVerticle";
    };
  }

  /** Deploys one verticle with the job as its configuration; completes with its deployment id. */
  public static Future<String> deploy(Vertx vertx, String className, JobConfig job) {
    return vertx.deployVerticle(className, new DeploymentOptions().setConfig(job.json().copy()));
  }
}
