package io.vertigrad.examples.besideverticles;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Serves HTTP and runs a worker of a job that was started elsewhere, in the same JVM. */
public final class GreetingWithWorker {

  private static final int PORT = 8080;

  private GreetingWithWorker() {}

  /**
   * Takes the address to join and the run's {@code job.json}, as {@code train --listen} prints
   * them.
   */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 2) {
      System.err.println("expected HOST:PORT and a job file, as ./vertigrad train --listen prints");
      System.exit(2);
    }
    JsonObject file = new JsonObject(Files.readString(Path.of(arguments[1])));
    JsonObject cluster = JsonObject.of("members", JsonArray.of(arguments[0]));
    Path secret = Path.of(arguments[1]).resolveSibling("secret");
    if (Files.exists(secret)) {
      cluster.put("secretFile", secret.toString());
    }
    JobConfig job = JobConfig.read(arguments[1], file.put("cluster", cluster));
    ClusterStart.ofJob(job, ClusterStart.secretOf(job.cluster()))
        .start()
        .compose(vertx -> serveAndWork(vertx, job))
        .onSuccess(id -> System.out.printf("training; greetings at http://127.0.0.1:%d%n", PORT))
        .onFailure(
            problem -> {
              System.err.println(problem.getMessage());
              System.exit(1);
            });
  }

  private static Future<String> serveAndWork(Vertx vertx, JobConfig job) {
    return vertx
        .deployVerticle(new GreetingVerticle(job.addresses().events(), PORT))
        .compose(greeting -> LentWorker.deploy(vertx, job));
  }
}
