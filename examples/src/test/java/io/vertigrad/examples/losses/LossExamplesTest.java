package io.vertigrad.examples.losses;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Trains the jobs of examples/losses on the samples beside them. */
@Tag("slow")
class LossExamplesTest {

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldPredictTheDistanceOfABall() throws Exception {
    TrainingResult result = train("regression");

    double rmse = Math.sqrt(result.loss());
    assertTrue(rmse < 0.1, "tens of metres, whose deviation is 0.93 and more; found " + rmse);
    assertTrue(Double.isNaN(result.accuracy()), result.toString());
    assertTrue(Double.isNaN(result.bestAccuracy()), result.toString());
  }

  @Test
  void shouldPredictTheHeightOfABall() throws Exception {
    TrainingResult result = train("labels");

    assertTrue(result.accuracy() > 96, result.toString());
  }

  private TrainingResult train(String name) throws Exception {
    JsonObject job = new JsonObject(Files.readString(Path.of("losses", name + ".json")));
    JsonObject data = job.getJsonObject("data");
    assertEquals("examples/losses/" + name, data.getString("directory"));
    data.put("directory", "losses/" + name);
    return get(get(TrainingJob.of(job).deploy(vertx)).result());
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(120, TimeUnit.SECONDS);
  }
}
