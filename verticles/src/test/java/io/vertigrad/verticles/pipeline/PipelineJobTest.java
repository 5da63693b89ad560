package io.vertigrad.verticles.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.verticles.coordinator.CoordinatorVerticle;
import io.vertigrad.verticles.evaluator.EvaluatorVerticle;
import io.vertigrad.verticles.fixture.JobDesk;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.metrics.TrainingEvent.CheckpointWritten;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberJoined;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertigrad.verticles.worker.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whole pipeline jobs in one JVM, with the real engine, beside the unsplit network. */
@Tag("slow")
@Timeout(180)
class PipelineJobTest {

  private static final int STEPS = 60;

  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  private final List<String> stages = new ArrayList<>();
  private CoordinatorVerticle coordinator;
  private String coordinatorId;
  private Vertx vertx;
  private JsonObject job;

  @TempDir Path folder;

  @BeforeEach
  void startVertx() {
    vertx = Vertx.vertx();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.pipe.events", m -> events.add(TrainingEvent.fromJson(m.body())));
    job =
        new JsonObject()
            .put("job", "pipe")
            .put("steps", STEPS)
            .put("seed", 3)
            .put("optimizer", new JsonObject().put("learningRate", 0.1))
            .put(
                "data",
                new JsonObject().put("name", "digits").put("train", 2_000).put("test", 1_000))
            .put("workers", new JsonObject().put("batch", 96))
            .put("exchange", new JsonObject().put("suspectMillis", 500).put("evictMillis", 2_000));
  }

  @AfterEach
  void closeVertx() {
    await(vertx.close());
  }

  /** 2,000 samples are 20 batches of 96 and one of 80: the smaller one is met twice. */
  @ParameterizedTest
  @CsvSource({"convnet, sgd", "mlp, sgd", "mlp, adam"})
  void shouldEndWithTheUnsplitBitsWhenThereIsOneMicroBatch(String model, String optimizer) {
    job.put("model", new JsonObject().put("name", model));
    if (optimizer.equals("adam")) {
      job.put("optimizer", new JsonObject().put("name", "adam").put("learningRate", 0.001));
    }
    JsonObject whole = trainUnsplit(1);

    JsonObject split = trainSplit(new JsonObject().put("stages", 2).put("microBatches", 1));

    assertEquals(hash(whole), hash(split));
    assertEquals(whole.getLong("samples"), split.getLong("samples"));
  }

  /**
   * Sums over parts of a batch are rounded differently; where a maximum of the ConvNet's pool is a
   * close call, that decides which pixel is blamed, and 60 steps make more of it.
   */
  @ParameterizedTest
  @CsvSource({"mlp, 1e-5", "convnet, 1e-3"})
  void shouldReachTheUnsplitLossWhenBatchesAreCut(String model, double tolerance) {
    job.put("model", new JsonObject().put("name", model));
    JsonObject whole = trainUnsplit(1).getJsonObject("evaluation");
    JsonObject pipeline = new JsonObject().put("stages", 2).put("microBatches", 5);

    JsonObject turns = trainSplit(pipeline.copy());
    JsonObject gpipe = trainSplit(pipeline.copy().put("schedule", "gpipe"));

    assertEquals(hash(turns), hash(gpipe), "schedules add gradients up in the same order");
    JsonObject split = turns.getJsonObject("evaluation");
    assertEquals(whole.getDouble("loss"), split.getDouble("loss"), tolerance);
    assertEquals(whole.getDouble("accuracy"), split.getDouble("accuracy"), 0.3);
  }

  @Test
  void shouldEndWithTheBitsOfDataParallelismWhenStagesHaveReplicas() {
    JsonObject whole = trainUnsplit(2);

    JsonObject split =
        trainSplit(new JsonObject().put("stages", 2).put("microBatches", 1).put("replicas", 2));

    assertEquals(hash(whole), hash(split));
    assertEquals(4, stages.size());
  }

  @Test
  void shouldReportWhatEachStageDidWhenItTrained() {
    trainSplit(new JsonObject().put("cuts", new JsonArray().add("pool1")).put("microBatches", 4));

    WorkerProgress first = last(WorkerProgress.class, w -> w.rank() == 0);
    WorkerProgress last = last(WorkerProgress.class, w -> w.rank() == 1);
    assertEquals(0, first.samples(), "only the last stage knows the loss");
    assertTrue(last.samples() >= 96L * (STEPS - 10), last.toString());
    assertTrue(first.secondsComputing() > 0 && last.secondsComputing() > 0);
    // Activations of pool1, 3 x 8 x 8 floats a sample, go one way, their gradients the other.
    assertEquals(first.sentTo().get(1), first.bytesReceived(), 0.05 * first.bytesSent());
  }

  @Test
  void shouldEndWithTheSameBitsWhenAStageIsReplacedAndThenEverythingPaused() {
    job.put("steps", 400)
        .put(
            "servers",
            new JsonObject()
                .put("checkpointEvery", 25)
                .put("checkpointDirectory", folder.resolve("a").toString()));
    JsonObject pipeline = new JsonObject().put("stages", 2).put("microBatches", 3);
    JsonObject undisturbed = trainSplit(pipeline);
    job.getJsonObject("servers").put("checkpointDirectory", folder.resolve("b").toString());
    events.clear();
    deployStages(pipeline);
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof CheckpointWritten c && c.version() == 50));

    await(vertx.undeploy(stages.get(1)));
    deploy(new StageVerticle());
    pauseAndResume();
    JsonObject result = await(coordinator.result());

    assertTrue(happened(e -> e instanceof MemberJoined j && j.incarnation() == 1));
    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(hash(undisturbed), hash(result));
    assertEquals(undisturbed.getLong("samples"), result.getLong("samples"));
  }

  @Test
  void shouldFailWithTheReasonWhenAStageIsLostAndNothingWasKept() {
    job.put("steps", 100_000).getJsonObject("workers").put("waitSeconds", 3);
    deployStages(new JsonObject().put("stages", 2));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.step() > 5));

    await(vertx.undeploy(stages.get(1)));
    deploy(new StageVerticle());
    JsonObject result = await(coordinator.result());

    assertEquals("failed", result.getString("state"), result::encode);
    assertTrue(
        result.getString("failure").contains("no step from which every stage can go on"),
        result::encode);
  }

  /** Once the new stage has made a step. */
  private void pauseAndResume() {
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.incarnation() == 1));
    assertEquals("paused", new JobDesk(vertx, "pipe").ask("pause").getString("state"));
    await(vertx.timer(700, TimeUnit.MILLISECONDS));
    long version = last(WorkerProgress.class, w -> true).version();
    await(vertx.timer(700, TimeUnit.MILLISECONDS));
    assertEquals(version, last(WorkerProgress.class, w -> true).version());
    assertTrue(version < 400, "paused in the middle");
    assertEquals("running", new JobDesk(vertx, "pipe").ask("resume").getString("state"));
  }

  private JsonObject trainUnsplit(int workers) {
    JsonObject unsplit = job.copy().put("strategy", new JsonObject().put("name", "allreduce"));
    unsplit.getJsonObject("workers").put("count", workers);
    start(unsplit);
    for (int i = 0; i < workers; i++) {
      deploy(new WorkerVerticle(), unsplit);
    }
    return finish();
  }

  private JsonObject trainSplit(JsonObject pipeline) {
    deployStages(pipeline);
    return finish();
  }

  private void deployStages(JsonObject pipeline) {
    job.put("pipeline", pipeline);
    start(job);
    stages.clear();
    int cuts = pipeline.getJsonArray("cuts", new JsonArray()).size();
    int count = pipeline.getInteger("stages", cuts + 1) * pipeline.getInteger("replicas", 1);
    for (int i = 0; i < count; i++) {
      stages.add(deploy(new StageVerticle()));
    }
  }

  private void start(JsonObject conf) {
    coordinator = new CoordinatorVerticle();
    coordinatorId = deploy(coordinator, conf);
    deploy(new EvaluatorVerticle(), conf);
  }

  private JsonObject finish() {
    JsonObject result = await(coordinator.result());
    assertEquals("finished", result.getString("state"), result::encode);
    await(coordinator.stop("the test is over"));
    await(vertx.undeploy(coordinatorId));
    return result;
  }

  private String deploy(Deployable verticle) {
    return deploy(verticle, job);
  }

  private String deploy(Deployable verticle, JsonObject conf) {
    return await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(conf.copy())));
  }

  private boolean happened(Predicate<TrainingEvent> event) {
    return events.stream().anyMatch(event);
  }

  private <E extends TrainingEvent> E last(Class<E> type, Predicate<E> wanted) {
    List<E> found =
        events.stream().filter(type::isInstance).map(type::cast).filter(wanted).toList();
    return found.get(found.size() - 1);
  }

  private static String hash(JsonObject result) {
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(150, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
