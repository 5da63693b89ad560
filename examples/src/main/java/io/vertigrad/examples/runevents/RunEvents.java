package io.vertigrad.examples.runevents;

import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.deploy.EmbeddedDeployment;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.verticles.coordinator.CoordinatorVerticle;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;

/** Prints what a run does: one of its own, or one that listens elsewhere. */
public final class RunEvents {

  private RunEvents() {}

  /** Without arguments trains; with HOST:PORT and a job file follows that run. */
  public static void main(String[] arguments) {
    boolean elsewhere = arguments.length == 2;
    Vertx reader = Vertx.vertx();
    JobRequest request = new JobRequest(elsewhere ? arguments[1] : "conf/digits-async.json");
    if (elsewhere) {
      request.option("--join", "cluster.members", new JsonArray().add(arguments[0]));
    }
    request
        .read(reader)
        .eventually(reader::close)
        .compose(job -> elsewhere ? follow(job) : train(job))
        .onFailure(problem -> System.err.println(problem.getMessage()));
  }

  private static Future<Void> follow(JobConfig job) {
    return new ClusterStart("vertigrad-" + job.addresses().job(), job.cluster())
        .start()
        .onSuccess(vertx -> print(vertx, job, vertx::close))
        .mapEmpty();
  }

  private static Future<Void> train(JobConfig job) {
    Vertx vertx = Vertx.vertx();
    print(vertx, job, () -> {});
    CoordinatorVerticle coordinator = new CoordinatorVerticle();
    return vertx
        .deployVerticle(coordinator, new DeploymentOptions().setConfig(job.json()))
        .compose(id -> new EmbeddedDeployment(vertx, job).start())
        .compose(started -> coordinator.result())
        .eventually(() -> coordinator.stop("all is printed"))
        .eventually(vertx::close)
        .mapEmpty();
  }

  private static void print(Vertx vertx, JobConfig job, Runnable end) {
    String name = job.addresses().job();
    MemberLog.of(vertx, name, System.out::println);
    RunReport.of(vertx, name).doOnComplete(end::run).subscribe(System.out::println);
  }
}
