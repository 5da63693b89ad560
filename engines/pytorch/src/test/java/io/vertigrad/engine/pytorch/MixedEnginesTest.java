package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests jobs whose workers compute with different libraries. */
@Tag("slow")
class MixedEnginesTest {

  private static final int STEPS = 20;
  private static final long SECONDS = 60;

  @TempDir Path folder;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldTrainTogetherWhenTheirModelsAreAlike() throws Exception {
    TrainingResult both = trained("pytorch", "convnet");
    TrainingResult alone = trained("dl4j", "convnet");

    assertEquals(TrainingResult.State.FINISHED, both.state());
    assertEquals(STEPS, both.version());
    assertEquals(alone.samples(), both.samples());
    assertEquals(alone.loss(), both.loss(), 1e-4);
  }

  @Test
  void shouldNameTheFileWhenTheirModelsDiffer() throws Exception {
    Path there = saved("dl4j", "there", Map.of());
    Path here = saved("pytorch", "here", Map.of("initialization", "glorot"));
    RunningJob running = deployWithoutSecondWorker(job("dl4j", there.toString()));

    ExecutionException refusal =
        assertThrows(
            ExecutionException.class,
            () -> get(deployWorker(job("pytorch", here.toString()).json())));

    assertTrue(
        refusal.getMessage().contains("other data than the job, model: found net.zip with"),
        refusal.getMessage());
    running.stop();
  }

  /** Writes files of one name that hold the same network with different names of its arrays. */
  private Path saved(String engine, String subfolder, Map<String, Object> options)
      throws IOException {
    Path file = Files.createDirectory(folder.resolve(subfolder)).resolve("net.zip");
    ModelConfig config = new ModelConfig("convnet", options, List.of(1, 28, 28), 10, 1, 1);
    try (Model model = Engine.named(engine).model(config)) {
      model.save(file);
    }
    return file;
  }

  private TrainingResult trained(String engine, String model) throws Exception {
    JobConfig job = job("dl4j", model);
    RunningJob running = deployWithoutSecondWorker(job);
    JobConfig second = job(engine, model);
    // Like TrainingJob: the model's options are part of what members compare.
    second.checkModel();
    get(deployWorker(second.json()));
    return get(running.result());
  }

  private RunningJob deployWithoutSecondWorker(JobConfig job) throws Exception {
    LocalMembers all = LocalMembers.of(job);
    return get(TrainingJob.of(job).here(all.withWorkers(1)).deploy(vertx));
  }

  private Future<String> deployWorker(JsonObject job) {
    return vertx.deployVerticle(new WorkerVerticle(), new DeploymentOptions().setConfig(job));
  }

  private static JobConfig job(String engine, String model) {
    return JobConfig.read(
        "mixed",
        new JsonObject()
            .put("job", "mixed")
            .put("engine", engine)
            .put("steps", STEPS)
            .put("data", new JsonObject().put("name", "digits").put("train", 640).put("test", 100))
            .put("model", new JsonObject().put("name", model))
            .put("optimizer", new JsonObject().put("learningRate", 0.05))
            .put("workers", new JsonObject().put("count", 2).put("batch", 32))
            .put("evaluator", new JsonObject().put("every", 20)));
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(SECONDS, TimeUnit.SECONDS);
  }
}
