package io.vertigrad.examples.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.training.RunningJob;
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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
@Timeout(120)
class ControlledTrainingTest {

  private static final int FOREVER = 1_000_000;

  @TempDir private Path folder;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldStopAndKeepTheModelWhenTheAccuracyIsReached() throws Exception {
    JsonObject file =
        new JsonObject()
            .put("job", "until")
            .put("steps", FOREVER)
            .put("optimizer", JsonObject.of("learningRate", 0.1))
            .put("evaluator", JsonObject.of("every", 20, "samples", 200))
            .put("data", JsonObject.of("name", "digits", "train", 2_000, "test", 500));
    RunningJob job = get(TrainingJob.of(file).deploy(vertx));
    Path model = folder.resolve("model.zip");

    TrainingResult result = get(ControlledTraining.trainUntil(60, job, model));

    assertEquals(TrainingResult.State.STOPPED, result.state());
    assertTrue(result.bestAccuracy() >= 60, result::toString);
    assertTrue(result.version() < FOREVER, result::toString);
    assertTrue(Files.size(model) > 1_000);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
