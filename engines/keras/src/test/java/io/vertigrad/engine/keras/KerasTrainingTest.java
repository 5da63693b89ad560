package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Score;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.SavedModel;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests whole jobs that start from a Keras model. */
@Tag("slow")
class KerasTrainingTest {

  private static final long SECONDS = 120;

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldContinueTrainingWhenAJobStartsWithAKerasModel(String strategy) throws Exception {
    JobConfig job = job(strategy);
    Path zip = folder.resolve("model.zip");
    Score before;
    try (SavedModel keras = SavedModel.open(job, KerasModelTest.file("digits"))) {
      before = keras.evaluate(0);
    }
    Vertx vertx = Vertx.vertx();
    TrainingResult result;
    try {
      RunningJob running = get(TrainingJob.of(job).deploy(vertx));
      result = get(running.result());
      get(running.saveModel(zip));
    } finally {
      get(vertx.close());
    }

    assertEquals(TrainingResult.State.FINISHED, result.state());
    assertTrue(before.accuracy() < 30, "random kernels: " + before.accuracy());
    assertTrue(result.accuracy() > 60, "trained: " + result.accuracy());
    try (SavedModel saved = SavedModel.open(job, zip)) {
      assertEquals(result.loss(), saved.evaluate(0).loss(), 1e-6);
    }
  }

  private static JobConfig job(String strategy) throws Exception {
    return JobConfig.read(
        "keras",
        new JsonObject()
            .put("job", "keras")
            .put("steps", 150)
            .put("data", new JsonObject().put("name", "digits").put("train", 2560).put("test", 200))
            .put("model", new JsonObject().put("name", KerasModelTest.file("digits").toString()))
            .put("optimizer", new JsonObject().put("learningRate", 0.2))
            .put("strategy", new JsonObject().put("name", strategy))
            .put("workers", new JsonObject().put("count", 2).put("batch", 32)));
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(SECONDS, TimeUnit.SECONDS);
  }
}
