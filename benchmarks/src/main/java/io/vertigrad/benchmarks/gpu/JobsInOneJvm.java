package io.vertigrad.benchmarks.gpu;

import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * {@code JobsInOneJvm FILE COUNT}: trains a job several times in one JVM, as an application does,
 * and prints the GPU's memory in use before the first and after each, as JSON.
 */
final class JobsInOneJvm {

  private static final int LIMIT_SECONDS = 120;

  private JobsInOneJvm() {}

  public static void main(String[] arguments) {
    CheckProgram.run(
        () ->
            measure(
                new JsonObject(Files.readString(Path.of(arguments[0]))),
                Integer.parseInt(arguments[1])));
  }

  static JsonObject measure(JsonObject job, int count) throws Exception {
    Vertx vertx = Vertx.vertx();
    JsonObject used = new JsonObject();
    putUsed(used, "before");
    JsonArray after = new JsonArray();
    for (int i = 0; i < count; i++) {
      TrainingJob.of(job)
          .deploy(vertx)
          .compose(RunningJob::result)
          .toCompletionStage()
          .toCompletableFuture()
          .get(LIMIT_SECONDS, TimeUnit.SECONDS);
      Sitting.usedMebibytes().ifPresent(after::add);
    }
    used.put("after", after);
    vertx.close().toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
    putUsed(used, "closed");
    return used;
  }

  private static void putUsed(JsonObject json, String key) {
    Sitting.usedMebibytes().ifPresent(mebibytes -> json.put(key, mebibytes));
  }
}
