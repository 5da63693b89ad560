package io.vertigrad.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Predicts with the quadratic model, whose outputs are {@code exp(-w)} of its first parameter. */
@Tag("slow")
@Timeout(120)
class PredictorVerticleTest {

  private static final double RATE = 0.01;
  private static final int STEPS = 60;
  private static final JsonArray SAMPLE = JsonArray.of(1, 2, 3);

  @TempDir private Path folder;

  private final Vertx vertx = Vertx.vertx();
  private final Predictions predictions = Predictions.of(vertx, "points");

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce", "async"})
  void shouldAnswerWithTheNewestVersionWhileTheJobTrains(String strategy) throws Exception {
    JsonObject job = job(strategy);
    get(vertx.deployVerticle(new PredictorVerticle(), new DeploymentOptions().setConfig(job)));
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    Awaitility.await().until(() -> version() >= 0);

    long last = -1;
    for (int i = 0; i < 40 || last < 5; i++) {
      JsonObject answer = ask(new JsonObject().put("sample", SAMPLE));
      long version = answer.getLong("version");
      assertTrue(version >= last, version + " after " + last);
      assertTrue(answer.getLong("ageMillis") >= 0, answer::encode);
      // On a busy machine training may go on during each of several reads.
      if (!strategy.equals("async") && !answer.containsKey("highestVersion")) {
        assertOutputs(version, answer);
      }
      last = version;
    }
    Files.createFile(folder.resolve("go"));
    TrainingResult result = get(running.result());

    Awaitility.await().until(() -> version() == result.version());
    if (!strategy.equals("async")) {
      assertOutputs(STEPS, ask(new JsonObject().put("sample", SAMPLE)));
    }
  }

  @Test
  void shouldAnswerTheSameForFramesAndJson() throws Exception {
    RunningJob running = deployBoth();

    Prediction binary = get(predictions.predict(new float[] {1, 2, 3}, new float[] {4, 5, 6}));
    JsonObject json = ask(new JsonObject().put("samples", JsonArray.of(SAMPLE, SAMPLE)));

    assertEquals(2, binary.outputs().size());
    assertEquals(2, binary.outputs().get(0).length);
    assertEquals(2, binary.classes().size());
    assertEquals(2, json.getJsonArray("outputs").size());
    assertEquals(JsonArray.of("0", "0"), json.getJsonArray("classes"));
    get(running.stop());
  }

  @Test
  void shouldRefuseWrongRequestsWithTheReason() throws Exception {
    RunningJob running = deployBoth();

    assertRefused(
        400, "sample: has 2 values, expected 3 numbers, shape [3]", "{\"sample\": [1, 2]}");
    assertRefused(
        400, "samples[1][2]: is \"x\", expected a number", "{\"samples\": [[1,2,3],[1,2,\"x\"]]}");
    assertRefused(
        400,
        "sample: is an object, but values of the data set 'paced' have no names; expected an array of 3 numbers",
        "{\"sample\": {\"a\": 1}}");
    assertRefused(
        400,
        "request: has keys [smaple], expected either \"sample\" or \"samples\"",
        "{\"smaple\": [1, 2, 3]}");
    assertRefused(
        400,
        "request: has keys [sample, x], expected either \"sample\" or \"samples\"",
        "{\"sample\": [1, 2, 3], \"x\": 1}");
    assertRefused(
        400,
        "samples[0][1]: is Infinity, expected a finite number",
        "{\"samples\": [[1,1e400,3]]}");
    assertRefused(400, "sample[1]: is [2,3], expected a number", "{\"sample\": [1,[2,3],4]}");
    assertRefused(400, "sample[0]: is null, expected a number", "{\"sample\": [null,2,3]}");
    assertRefused(
        400,
        "request: has keys [%s..., expected either \"sample\" or \"samples\""
            .formatted("a".repeat(199)),
        "{\"%s\": 1}".formatted("a".repeat(1_000)));
    ReplyException notFinite = refusal(predictions.predict(new float[] {1, 2, Float.NaN}));
    assertEquals(400, notFinite.failureCode());
    assertEquals(
        "tensor, sample 0: input 2 is NaN, expected a finite number", notFinite.getMessage());
    StageTensor piece =
        new StageTensor(
            new ExchangeId(0, -1, 0, 0, 0, 0),
            0,
            Direction.BACKWARD,
            0,
            3,
            Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[] {1, 2, 3})));
    assertEquals(
        "tensor: is micro-batch 0, BACKWARD, from element 3 on, expected 0, FORWARD and 0: one frame has all samples",
        refusal(vertx.eventBus().request("vertigrad.points.predict", piece)).getMessage());
    ReplyException refused = refusal(predictions.predict(new float[] {1, 2, 3, 4}));
    assertEquals(400, refused.failureCode());
    assertEquals(
        "tensor: has 4 elements, expected a multiple of 3, the inputs of one sample",
        refused.getMessage());
    get(running.stop());
  }

  @Test
  void shouldSayThatNobodyAnswersWhenThereIsNoPredictorOrNoParameters() throws Exception {
    assertEquals(
        Predictions.NOT_READY, refusal(predictions.predict(new JsonObject())).failureCode());
    get(
        vertx.deployVerticle(
            new PredictorVerticle(), new DeploymentOptions().setConfig(job("sync"))));

    assertEquals(
        Predictions.NOT_READY, refusal(predictions.predict(new JsonObject())).failureCode());
  }

  @Test
  void shouldNotChangeTrainingWhenPredictorsStartAndStop() throws Exception {
    JsonObject job = job("sync");
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    for (int i = 0; i < 3; i++) {
      String id =
          get(
              vertx.deployVerticle(
                  new PredictorVerticle(), new DeploymentOptions().setConfig(job)));
      Awaitility.await().until(() -> version() >= 0);
      get(vertx.undeploy(id));
    }
    Files.createFile(folder.resolve("go"));

    TrainingResult result = get(running.result());

    assertEquals(STEPS, result.version());
    assertEquals(PointsProvider.COORDINATE * (1 - Math.pow(1 - RATE, STEPS)), result.loss(), 1e-5);
  }

  @Test
  void shouldAnswerWithTheTrainedParametersWhenTheResultIsThere() throws Exception {
    JsonObject job = job("sync");
    job.getJsonObject("serving").put("refreshMillis", 3_600_000);
    get(vertx.deployVerticle(new PredictorVerticle(), new DeploymentOptions().setConfig(job)));
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    Awaitility.await().until(() -> version() >= 0);
    Files.createFile(folder.resolve("go"));

    get(running.result());

    assertEquals(STEPS, version());
  }

  @Test
  void shouldAnswerWithItsParametersWhenTrainingHasEnded() throws Exception {
    RunningJob running = deployBoth();
    get(running.stop());
    JsonObject first = ask(new JsonObject().put("sample", SAMPLE));

    Awaitility.await()
        .until(
            () ->
                ask(new JsonObject().put("sample", SAMPLE)).getLong("ageMillis")
                    > first.getLong("ageMillis"));
  }

  @Test
  void shouldAnswerAtOnceWhenWorkersContinueFromACheckpointBetweenTwoTests() throws Exception {
    JsonObject job = job("allreduce").put("steps", 1_000);
    job.put("evaluator", new JsonObject().put("every", 1_000))
        .put("checkpoint", new JsonObject().put("every", 5).put("directory", folder.toString()))
        .put("run", new JsonObject().put("id", "points"));
    RunningJob first = get(TrainingJob.of(job).deploy(vertx));
    first
        .events()
        .ofType(CheckpointWritten.class)
        .filter(written -> written.version() > 0)
        .timeout(30, TimeUnit.SECONDS)
        .blockingFirst();
    get(first.stop());
    job.getJsonObject("run").put("resumes", 1);
    RunningJob second = get(TrainingJob.of(job).deploy(vertx));

    get(vertx.deployVerticle(new PredictorVerticle(), new DeploymentOptions().setConfig(job)));

    Awaitility.await().until(() -> version() > 0);
    long version = version();
    assertTrue(version < 1_000, "answered by " + version);
    assertOutputs(version, ask(new JsonObject().put("sample", SAMPLE)));
    get(second.stop());
  }

  @Test
  void shouldFollowAPipelineWhoseStagesTestIt() throws Exception {
    JsonObject job =
        new JsonObject()
            .put("job", "points")
            .put("data", new JsonObject().put("name", "digits"))
            .put("model", new JsonObject().put("name", "convnet"))
            .put("pipeline", new JsonObject().put("stages", 2))
            .put("optimizer", new JsonObject().put("learningRate", RATE))
            .put("workers", new JsonObject().put("batch", 4))
            .put("evaluator", new JsonObject().put("every", 2).put("samples", 10))
            .put("steps", 1_000_000);
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));

    get(vertx.deployVerticle(new PredictorVerticle(), new DeploymentOptions().setConfig(job)));

    Awaitility.await().until(() -> version(new JsonArray(Collections.nCopies(784, 0))) > 2);
    get(running.stop());
  }

  @Test
  void shouldPublishItsFiguresWhileItIsAsked() throws Exception {
    RunningJob running = deployBoth();
    ask(new JsonObject().put("sample", SAMPLE));

    PredictorProgress progress =
        running
            .events()
            .ofType(PredictorProgress.class)
            .filter(found -> found.requests() > 0)
            .timeout(30, TimeUnit.SECONDS)
            .blockingFirst();

    assertEquals(
        progress.requests(),
        progress.latencies().values().stream().mapToLong(Long::longValue).sum());
    assertTrue(progress.latencyMillis50() > 0, progress::toString);
    get(running.stop());
  }

  @Test
  void shouldRefuseASampleWithoutAllItsColumnsOverRx() throws Exception {
    RunningJob running = deployBoth();

    Throwable refused =
        assertThrows(
            Exception.class,
            () -> predictions.rxPredict(new JsonObject().put("a", 1)).blockingGet());

    assertInstanceOf(
        ReplyException.class, refused.getCause() == null ? refused : refused.getCause());
    get(running.stop());
  }

  private RunningJob deployBoth() throws Exception {
    JsonObject job = job("sync");
    job.getJsonObject("data").put("millis", 50);
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    get(vertx.deployVerticle(new PredictorVerticle(), new DeploymentOptions().setConfig(job)));
    Awaitility.await().until(() -> version() >= 0);
    return running;
  }

  private JsonObject job(String strategy) {
    return new JsonObject()
        .put("job", "points")
        .put("engine", "quadratic")
        .put(
            "data",
            new JsonObject()
                .put("name", "paced")
                .put("of", "points")
                .put("millis", 2)
                .put("until", folder.resolve("go").toString()))
        .put("optimizer", new JsonObject().put("learningRate", RATE))
        .put("workers", new JsonObject().put("count", 2).put("batch", 4))
        .put("steps", strategy.equals("async") ? STEPS / 2 : STEPS)
        .put("strategy", new JsonObject().put("name", strategy))
        .put("serving", new JsonObject().put("refreshMillis", 5));
  }

  private long version() throws Exception {
    return version(SAMPLE);
  }

  private long version(JsonArray sample) throws Exception {
    try {
      return ask(new JsonObject().put("sample", sample)).getLong("version");
    } catch (ExecutionException noPredictor) {
      return -1;
    }
  }

  private JsonObject ask(JsonObject request) throws Exception {
    return get(vertx.eventBus().<JsonObject>request("vertigrad.points.predict", request)).body();
  }

  private static void assertOutputs(long version, JsonObject answer) {
    double parameter = PointsProvider.COORDINATE * (1 - Math.pow(1 - RATE, version));
    assertEquals(
        Math.exp(-parameter),
        answer.getJsonArray("outputs").getJsonArray(0).getDouble(0),
        1e-5,
        answer::encode);
  }

  private void assertRefused(int code, String message, String request) {
    ReplyException refused =
        refusal(vertx.eventBus().request("vertigrad.points.predict", new JsonObject(request)));
    assertEquals(message, refused.getMessage());
    assertEquals(code, refused.failureCode());
  }

  private static ReplyException refusal(Future<?> answer) {
    ExecutionException failed = assertThrows(ExecutionException.class, () -> get(answer));
    return assertInstanceOf(ReplyException.class, failed.getCause());
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
