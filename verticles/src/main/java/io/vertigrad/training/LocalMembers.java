package io.vertigrad.training;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.StageVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;

/**
 * The number of members of each role that this JVM starts; the other members of a job join from
 * elsewhere.
 *
 * <p>The coordinator is not counted, because each job has exactly one.
 *
 * @param servers number of parameter servers
 * @param workers number of workers, or of stages if the job has a pipeline
 * @param evaluators 0 or 1
 */
public record LocalMembers(int servers, int workers, int evaluators) {

  /**
   * Checks the numbers.
   *
   * @param servers number of parameter servers
   * @param workers number of workers, or of stages if the job has a pipeline
   * @param evaluators 0 or 1
   * @throws IllegalArgumentException when one of them is below 0
   */
  public LocalMembers {
    if (servers < 0 || workers < 0 || evaluators < 0) {
      throw new IllegalArgumentException(
          "local members: servers is %s, workers is %s, evaluators is %s, expected none below 0"
              .formatted(servers, workers, evaluators));
    }
  }

  /**
   * Returns all members of a job.
   *
   * @param job the job
   * @return as many servers as its strategy needs, its workers and its evaluator
   * @throws io.vertigrad.compute.settings.SettingsException when its strategy is not known
   */
  public static LocalMembers of(JobConfig job) {
    boolean besideServers =
        StrategyProviders.configure(job.strategy(), LocalMembers.class.getClassLoader())
            .traits()
            .besideServers();
    int servers = besideServers ? job.servers().count() : 0;
    return new LocalMembers(servers, job.workers().count(), job.evaluators());
  }

  /**
   * Returns a single member.
   *
   * @param role role of the member
   * @return one member of that role and none of the others
   */
  public static LocalMembers one(Role role) {
    return new LocalMembers(
        role == Role.SERVER ? 1 : 0, role == Role.WORKER ? 1 : 0, role == Role.EVALUATOR ? 1 : 0);
  }

  /**
   * Returns a copy with another number of workers.
   *
   * @param count how many workers this JVM starts
   * @return the changed copy
   */
  public LocalMembers withWorkers(int count) {
    return new LocalMembers(servers, count, evaluators);
  }

  /**
   * Returns how many members have a role.
   *
   * @param role the role
   * @return the number of this JVM's members of that role
   */
  public int count(Role role) {
    return switch (role) {
      case SERVER -> servers;
      case WORKER -> workers;
      case EVALUATOR -> evaluators;
    };
  }

  /**
   * Checks that this machine has the device that the job names, if members here compute.
   *
   * @param job the job that they take part in
   * @throws io.vertigrad.compute.settings.SettingsException with the reason, and with what to do
   */
  public void checkDevice(JobConfig job) {
    if (workers + evaluators > 0) {
      job.checkDevice();
    }
  }

  /**
   * Deploys these members, each as a verticle whose configuration is the job file. Returns at once;
   * members join on their own threads.
   *
   * @param vertx the Vert.x that runs them; clustered if the coordinator is elsewhere
   * @param job the job that they take part in
   * @return completes when all members are admitted; fails with the first reason why one was not
   */
  public Future<Void> deploy(Vertx vertx, JobConfig job) {
    List<Future<String>> deployed = new ArrayList<>();
    for (Role role : Role.values()) {
      for (int i = 0; i < count(role); i++) {
        DeploymentOptions options = new DeploymentOptions().setConfig(job.json());
        deployed.add(vertx.deployVerticle(verticle(job, role), options));
      }
    }
    return Future.all(deployed).mapEmpty();
  }

  private static Deployable verticle(JobConfig job, Role role) {
    return switch (role) {
      case SERVER -> new ParameterServerVerticle();
      case WORKER -> job.pipeline().isPresent() ? new StageVerticle() : new WorkerVerticle();
      case EVALUATOR -> new EvaluatorVerticle();
    };
  }
}
