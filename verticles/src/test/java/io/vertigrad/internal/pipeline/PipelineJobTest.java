package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.fixture.FakeCoordinator;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.job.Role;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs whole pipeline jobs in one JVM, with the real engine, and compares them with the unsplit
 * network.
 */
@Tag("slow")
@Timeout(180)
class PipelineJobTest {

  private static final int STEPS = 60;

  /** Steps of a job that a test disturbs. */
  private static final int LONG = 150;

  /**
   * Samples of eight tests: the start, six partial tests and the whole test set, by default 1,000
   * samples each.
   */
  private static final long TESTED = 8_000;

  /** The result of the run that disturbed ones are compared with. */
  private static JsonObject undisturbed;

  private PipelineJob run;
  private JsonObject job;

  @TempDir Path folder;

  @BeforeEach
  void prepare() {
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
    run = new PipelineJob(job);
  }

  @AfterEach
  void close() {
    run.close();
  }

  /**
   * With 2,000 samples an epoch has 20 batches of 96 and one of 80, so the smaller batch occurs
   * twice.
   */
  @ParameterizedTest
  @CsvSource({"convnet, sgd", "mlp, momentum", "mlp, adam"})
  void shouldEndWithTheUnsplitBitsWhenThereIsOneMicroBatch(String model, String optimizer) {
    job.put("model", new JsonObject().put("name", model));
    if (optimizer.equals("adam")) {
      job.put("optimizer", new JsonObject().put("name", "adam").put("learningRate", 0.001));
    }
    if (optimizer.equals("momentum")) {
      job.getJsonObject("optimizer").put("momentum", 0.9).put("dampening", 0.5).put("l2", 1e-4);
    }
    JsonObject whole = run.trainUnsplit(1);

    JsonObject split = run.trainSplit(new JsonObject().put("stages", 2).put("microBatches", 1));

    assertEquals(PipelineJob.hash(whole), PipelineJob.hash(split));
    assertEquals(whole.getLong("samples"), split.getLong("samples"));
  }

  /**
   * Sums over parts of a batch are rounded differently. Where two inputs of the ConvNet's max pool
   * are almost equal, rounding decides which pixel gets the gradient, and 60 steps amplify the
   * difference.
   */
  @ParameterizedTest
  @CsvSource({"mlp, 1e-5", "convnet, 1e-3"})
  void shouldReachTheUnsplitLossWhenBatchesAreCut(String model, double tolerance) {
    job.put("model", new JsonObject().put("name", model));
    JsonObject whole = run.trainUnsplit(1).getJsonObject("evaluation");
    JsonObject pipeline = new JsonObject().put("stages", 2).put("microBatches", 5);

    JsonObject turns = run.trainSplit(pipeline.copy());
    JsonObject gpipe =
        run.trainSplit(pipeline.copy().put("schedule", "gpipe").put("evaluation", "assembled"));

    assertEquals(
        PipelineJob.hash(turns),
        PipelineJob.hash(gpipe),
        "schedules add gradients up in the same order");
    JsonObject split = turns.getJsonObject("evaluation");
    assertEquals(whole.getDouble("loss"), split.getDouble("loss"), tolerance);
    assertEquals(whole.getDouble("accuracy"), split.getDouble("accuracy"), 0.3);
  }

  /**
   * The stages test the whole test set once more, at a version that was not planned as the last.
   */
  @ParameterizedTest
  @CsvSource({"1, allreduce, stages", "2, local, stages", "1, allreduce, assembled"})
  void shouldEndEarlyWhenTheAccuracyIsReached(int replicas, String strategy, String evaluation) {
    job.put("steps", 100_000)
        .put("strategy", new JsonObject().put("name", strategy))
        .put("evaluator", new JsonObject().put("samples", 200))
        .put("stop", new JsonObject().put("accuracy", 40));

    JsonObject result =
        run.trainSplit(
            new JsonObject()
                .put("stages", 2)
                .put("replicas", replicas)
                .put("evaluation", evaluation));

    JsonObject stopped = result.getJsonObject("stopped");
    assertEquals("accuracy", stopped.getString("reason"), result::encode);
    assertTrue(stopped.getDouble("value") >= 40, result::encode);
    long version = result.getLong("version");
    assertTrue(version >= stopped.getLong("version") && version < 1_000, result::encode);
    assertEquals(0, strategy.equals("local") ? version % 10 : 0, "where replicas agree");
    assertEquals(1_000, result.getJsonObject("evaluation").getInteger("samples"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "local"})
  void shouldEndWithTheBitsOfDataParallelismWhenStagesHaveReplicas(String strategy) {
    job.put("strategy", new JsonObject().put("name", strategy));
    JsonObject whole = run.trainUnsplit(2);

    JsonObject split =
        run.trainSplit(new JsonObject().put("stages", 2).put("microBatches", 1).put("replicas", 2));

    assertEquals(PipelineJob.hash(whole), PipelineJob.hash(split));
    assertEquals(4, run.events().stream().filter(MemberJoined.class::isInstance).count());
    assertEquals(
        1, run.events().stream().filter(PipelineJob::isWhole).count(), "one replica tests");
  }

  @Test
  void shouldReportTheCountersOfEachStage() {
    run.trainSplit(
        new JsonObject().put("cuts", new JsonArray().add("pool1")).put("microBatches", 4));

    WorkerProgress first = run.last(WorkerProgress.class, w -> w.rank() == 0);
    WorkerProgress last = run.last(WorkerProgress.class, w -> w.rank() == 1);
    assertEquals(0, first.samples(), "only the last stage knows the loss");
    assertTrue(last.samples() >= 96L * (STEPS - 10), last.toString());
    assertTrue(first.secondsComputing() > 0 && last.secondsComputing() > 0);
    // Activations go one way and their gradients the other; in tests there are only activations.
    long pooled = Float.BYTES * 3 * 8 * 8;
    long training = first.bytesSent() - TESTED * pooled;
    assertEquals(training, first.bytesReceived(), 0.05 * training);
    assertEquals(first.bytesSent(), first.sentTo().get(1));
  }

  @Test
  void shouldTestEveryFewStepsWhenStagesTestThemselves() {
    job.put("evaluator", new JsonObject().put("every", 25).put("samples", 300));

    JsonObject split = run.trainSplit(new JsonObject().put("stages", 2).put("microBatches", 5));

    List<String> tests =
        run.events().stream()
            .filter(Evaluated.class::isInstance)
            .map(Evaluated.class::cast)
            .map(e -> "%d: %d".formatted(e.version(), e.samples()))
            .toList();
    assertEquals(List.of("0: 300", "25: 300", "50: 300", "60: 300", "60: 1000"), tests);
    assertEquals(0, split.getJsonObject("evaluation").getString("hashTold").length());
  }

  @Test
  void shouldRefuseAnEvaluatorWhenStagesTestThemselves() {
    job.put("pipeline", new JsonObject().put("stages", 2));

    IllegalStateException refused =
        assertThrows(IllegalStateException.class, () -> run.deploy(new EvaluatorVerticle()));

    assertTrue(refused.getMessage().contains("pipeline.evaluation to \"assembled\""));
  }

  @Test
  void shouldEndWithTheSameBitsWhenStagesHandOverAndAreReplacedAndEverythingIsPaused()
      throws IOException {
    trainThenBegin(new JsonObject().put("every", 7));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> run.happened(e -> e instanceof CheckpointWritten c && c.version() == 14));

    // Past the checkpoint, so that the successor needs the one that is handed over.
    Awaitility.await().atMost(60, TimeUnit.SECONDS).until(() -> last(steps(0, 0)) > 15);
    run.succeed(1);
    Awaitility.await().atMost(60, TimeUnit.SECONDS).until(() -> steps(1, 1).size() > 2);
    List<Long> of = Stream.concat(steps(1, 0).stream(), steps(1, 1).stream()).toList();
    assertEquals(of.stream().sorted().toList(), of, "no stage went back");
    run.replace(1);
    pauseAndResume(2);
    JsonObject result = finish();

    assertTrue(run.happened(e -> e instanceof MemberJoined j && j.incarnation() == 2));
    assertEquals(PipelineJob.hash(undisturbed), PipelineJob.hash(result));
    assertEquals(undisturbed.getLong("samples"), result.getLong("samples"));
  }

  private static long last(List<Long> steps) {
    return steps.get(steps.size() - 1);
  }

  private List<Long> steps(int stage, int incarnation) {
    return run.events().stream()
        .filter(WorkerProgress.class::isInstance)
        .map(WorkerProgress.class::cast)
        .filter(worker -> worker.rank() == stage && worker.incarnation() == incarnation)
        .map(WorkerProgress::step)
        .toList();
  }

  /**
   * Trains undisturbed unless another test has, and then starts the same stages again, which take
   * some thirty steps a second until {@link #finish}.
   */
  private void trainThenBegin(JsonObject checkpoint) {
    JsonObject pipeline = new JsonObject().put("stages", 2).put("microBatches", 3);
    job.put("checkpoint", checkpoint.put("directory", folder.resolve("a").toString()));
    job.put("steps", LONG).getJsonObject("workers").put("batch", 32);
    if (undisturbed == null) {
      undisturbed = run.trainSplit(pipeline);
    }
    job.getJsonObject("data")
        .put("name", "paced")
        .put("millis", 1)
        .put("until", folder.resolve("released").toString());
    checkpoint.put("directory", folder.resolve("b").toString());
    run.deployStages(pipeline);
  }

  private JsonObject finish() throws IOException {
    Files.createFile(folder.resolve("released"));
    return run.finishSplit();
  }

  @Test
  void shouldStartOverWhenAStageIsLostBeforeTheFirstCheckpoint() throws IOException {
    trainThenBegin(new JsonObject().put("seconds", 600));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> run.happened(e -> e instanceof WorkerProgress w && w.step() > 20));

    run.replace(1);
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(PipelineJob.hash(undisturbed), PipelineJob.hash(result));
    assertEquals(undisturbed.getLong("samples"), result.getLong("samples"));
  }

  /** Stages may be a step apart when they are evicted; then all start over. */
  @Test
  void shouldEndWithTheSameBitsWhenAllStagesAreEvictedBeforeTheFirstCheckpoint()
      throws IOException {
    trainThenBegin(new JsonObject().put("seconds", 600));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> run.happened(e -> e instanceof WorkerProgress w && w.step() > 20));

    for (int rank = 0; rank < 2; rank++) {
      JsonObject leave =
          ControlCodec.write(new Admission(Role.WORKER, rank, 0))
              .put("request", "leave")
              .put("reason", "taken for dead")
              .put("status", new JsonObject());
      run.vertx().eventBus().send("vertigrad.pipe.coordinator", leave);
    }
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(PipelineJob.hash(undisturbed), PipelineJob.hash(result));
    assertEquals(undisturbed.getLong("samples"), result.getLong("samples"));
  }

  @Test
  void shouldFailWithTheReasonWhenAStageIsLostAndNothingWasKept() {
    job.put("steps", 100_000).getJsonObject("workers").put("waitSeconds", 30);
    run.deployStages(new JsonObject().put("stages", 2));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> run.happened(e -> e instanceof WorkerProgress w && w.step() > 5));

    run.replace(1);
    JsonObject result = PipelineJob.await(run.coordinator().result());

    assertEquals("failed", result.getString("state"), result::encode);
    assertTrue(
        result.getString("failure").contains("no step from which every stage can go on"),
        result::encode);
  }

  /** Pauses and resumes once the new stage, of this incarnation, has taken a step. */
  private void pauseAndResume(int incarnation) {
    FakeCoordinator coordinator = new FakeCoordinator(run.vertx(), "pipe");
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(
            () ->
                run.happened(e -> e instanceof WorkerProgress w && w.incarnation() == incarnation));
    assertEquals("paused", coordinator.ask("pause").getString("state"));
    PipelineJob.await(run.vertx().timer(700, TimeUnit.MILLISECONDS));
    long version = run.last(WorkerProgress.class, w -> true).version();
    PipelineJob.await(run.vertx().timer(700, TimeUnit.MILLISECONDS));
    assertEquals(version, run.last(WorkerProgress.class, w -> true).version());
    assertTrue(version < LONG, "paused in the middle");
    assertEquals("running", coordinator.ask("resume").getString("state"));
  }
}
