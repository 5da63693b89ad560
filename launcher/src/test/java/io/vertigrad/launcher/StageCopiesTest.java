package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.StageVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each stage has a checkpoint folder of its own, as on a machine of its own. */
@Tag("slow")
@Timeout(180)
final class StageCopiesTest {

  private static final int STAGES = 2;

  private final Vertx vertx = Vertx.vertx();
  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();

  @TempDir private Path folder;
  private boolean paced;

  @AfterEach
  void close() {
    await(vertx.close());
  }

  /** The copy of the first stage is with the second one, that of the last with the first one. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void shouldTakeALostStageFromTheMemoryOfTheNext(int lost) throws IOException {
    Path released = folder.resolve("released");
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.stages.events", m -> events.add(TrainingEvent.fromJson(m.body())));
    String undisturbed = new Run("before").hash();
    events.clear();

    paced = true;
    Run run = new Run("here");
    awaitEvent(
        event -> event instanceof CheckpointWritten one && one.version() >= 30 && one.shard() == 1);
    await(vertx.undeploy(run.stages.get(lost)));
    run.deploy(new StageVerticle(), "elsewhere");
    awaitEvent(
        event ->
            event instanceof StateTaken one
                && one.rank() == lost
                && one.holder() == (lost + 1) % STAGES);
    Files.createFile(released);

    assertEquals(undisturbed, run.hash());
  }

  private void awaitEvent(Predicate<TrainingEvent> which) {
    Awaitility.await().atMost(90, TimeUnit.SECONDS).until(() -> events.stream().anyMatch(which));
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(90, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** The members of one run. */
  private final class Run {

    private final String name;
    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String id;
    private final List<String> stages = new ArrayList<>();

    Run(String name) {
      this.name = name;
      id = deploy(coordinator, "coordinator");
      deploy(new EvaluatorVerticle(), "evaluator");
      for (int i = 0; i < STAGES; i++) {
        stages.add(deploy(new StageVerticle(), "stage-" + i));
      }
    }

    private String deploy(Deployable verticle, String own) {
      JsonObject job =
          new JsonObject(
              """
              {"job": "stages", "steps": 300, "seed": 3, "model": {"name": "mlp"},
               "optimizer": {"learningRate": 0.1, "momentum": 0.9},
               "data": {"name": "digits", "train": 2000, "test": 500},
               "pipeline": {"stages": 2, "microBatches": 2, "evaluation": "assembled"},
               "workers": {"batch": 32, "waitSeconds": 60},
               "exchange": {"suspectMillis": 5000, "evictMillis": 20000}}
              """);
      if (paced) {
        job.getJsonObject("data")
            .put("of", "digits")
            .put("name", "paced")
            .put("millis", 1)
            .put("until", folder.resolve("released").toString());
      }
      JsonObject checkpoint = new JsonObject().put("every", 10);
      job.put("checkpoint", checkpoint.put("directory", folder.resolve(name + own).toString()));
      return await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(job)));
    }

    String hash() {
      JsonObject result = await(coordinator.result());
      assertEquals("finished", result.getString("state"), result::encode);
      await(coordinator.stop("the run is over"));
      await(vertx.undeploy(id));
      return result.getJsonObject("evaluation").getString("parametersHash");
    }
  }
}
