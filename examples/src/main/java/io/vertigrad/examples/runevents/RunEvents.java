package io.vertigrad.examples.runevents;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Prints the events of a run: one of its own, or one that listens elsewhere. */
public final class RunEvents {

  private RunEvents() {}

  /**
   * Trains when called without arguments; with HOST:PORT and a run's job.json it follows that run.
   */
  public static void main(String[] arguments) throws IOException {
    boolean elsewhere = arguments.length == 2;
    String file = elsewhere ? arguments[1] : "conf/digits-async.json";
    JsonObject json = new JsonObject(Files.readString(Path.of(file)));
    if (elsewhere) {
      JsonObject cluster = JsonObject.of("members", JsonArray.of(arguments[0]));
      Path secret = Path.of(file).resolveSibling("secret");
      if (Files.exists(secret)) {
        cluster.put("secretFile", secret.toString());
      }
      json.put("cluster", cluster);
    }
    JobConfig job = JobConfig.read(file, json);
    if (elsewhere) {
      follow(job);
    } else {
      train(job);
    }
  }

  private static void follow(JobConfig job) {
    ClusterStart.ofJob(job, ClusterStart.secretOf(job.cluster()))
        .start()
        .onSuccess(vertx -> print(vertx, job, vertx::close))
        .onFailure(problem -> System.err.println(problem.getMessage()));
  }

  private static void train(JobConfig job) {
    Vertx vertx = Vertx.vertx();
    print(vertx, job, () -> {});
    TrainingJob.of(job)
        .deploy(vertx)
        .compose(RunningJob::result)
        .onFailure(problem -> System.err.println(problem.getMessage()))
        .onComplete(ended -> vertx.close());
  }

  private static void print(Vertx vertx, JobConfig job, Runnable end) {
    String name = job.addresses().job();
    MemberLog.of(vertx, name, System.out::println);
    RunReport.of(vertx, name).doOnComplete(end::run).subscribe(System.out::println);
  }
}
