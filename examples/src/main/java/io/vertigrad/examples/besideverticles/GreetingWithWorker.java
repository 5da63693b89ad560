package io.vertigrad.examples.besideverticles;

import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.worker.WorkerVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;

/** An application that serves HTTP and lends its JVM to a job that was started elsewhere. */
public final class GreetingWithWorker {

  private static final int PORT = 8080;

  private GreetingWithWorker() {}

  /** Takes the address to join and the run's job.json, as {@code train --listen} prints them. */
  public static void main(String[] arguments) {
    if (arguments.length != 2) {
      System.err.println("expected HOST:PORT and a job file, as ./vertigrad train --listen prints");
      System.exit(2);
    }
    Vertx reader = Vertx.vertx();
    new JobRequest(arguments[1])
        .option("--join", "cluster.members", new JsonArray().add(arguments[0]))
        .read(reader)
        .eventually(reader::close)
        .compose(GreetingWithWorker::start)
        .onFailure(GreetingWithWorker::end);
  }

  private static Future<String> start(JobConfig job) {
    return new ClusterStart("vertigrad-" + job.addresses().job(), job.cluster())
        .start()
        .compose(
            vertx ->
                vertx
                    .deployVerticle(new GreetingVerticle(job.addresses().events(), PORT))
                    .compose(greeting -> work(vertx, job)))
        .onSuccess(id -> System.out.printf("training; greetings at http://127.0.0.1:%d%n", PORT));
  }

  /** All that an application needs which is clustered with the job already. */
  static Future<String> work(Vertx vertx, JobConfig job) {
    return vertx.deployVerticle(
        new WorkerVerticle(), new DeploymentOptions().setConfig(job.json()));
  }

  private static void end(Throwable problem) {
    System.err.println(problem.getMessage());
    System.exit(1);
  }
}
