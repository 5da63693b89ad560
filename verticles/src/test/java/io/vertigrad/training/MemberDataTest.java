package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.StageVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that members have the same data, and a resumed run those that it was trained on. */
@Timeout(60)
final class MemberDataTest {

  private static final long LIMIT_SECONDS = 40;
  private static final String POINTS =
      "a,b,c,class\n" + "1,2,3,in\n4,5,6,out\n7,8,9,in\n3,2,1,out\n".repeat(4);
  private static final String SWAPPED =
      POINTS.replace("in", "?").replace("out", "in").replace("?", "out");

  @TempDir private Path folder;
  private final Vertx vertx = Vertx.vertx();
  private Path points;
  private Path swapped;

  @BeforeEach
  void writeData() throws IOException {
    points = Files.writeString(folder.resolve("points.csv"), POINTS);
    swapped = Files.writeString(folder.resolve("swapped.csv"), SWAPPED);
  }

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @ParameterizedTest
  @CsvSource({
    "sync, SERVER, WORKER",
    "sync, WORKER, SERVER",
    "async, WORKER, WORKER",
    "allreduce, WORKER, WORKER",
    "gossip, WORKER, WORKER",
    "diloco, WORKER, WORKER"
  })
  void shouldRefuseAMemberWithOtherTrainingData(String strategy, Role first, Role second)
      throws Exception {
    coordinate(job(strategy, points));
    get(join(first, job(strategy, points)));

    String why = refusal(join(second, job(strategy, swapped)));

    assertTrue(
        why.contains(
            "is refused: it has other data than the job, trainingData: found 12 samples of 2"
                + " classes, expected 12 samples of 2 classes; the first file that differs: found"
                + " swapped.csv with %d bytes (hash ".formatted(SWAPPED.length())),
        why);
    assertTrue(why.endsWith("; give it the same files"), why);
    get(join(second, job(strategy, Files.copy(points, folder.resolve("copy.csv")))));
  }

  @Test
  void shouldStartAServerWithoutDataWhenTheCoordinatorHasShownItsOwn() throws Exception {
    JsonObject elsewhere = known(job("sync", points));
    coordinate(elsewhere.copy());
    elsewhere.getJsonObject("data").put("directory", folder.resolve("none.csv").toString());

    get(join(Role.SERVER, elsewhere));

    String why = refusal(join(Role.WORKER, job("sync", swapped)));
    assertTrue(why.contains("it has other data than the job, trainingData: found 12"), why);
  }

  @Test
  void shouldRefuseAnEvaluatorWithOtherTestData() throws Exception {
    coordinate(known(job("sync", points)));

    String why = refusal(join(Role.EVALUATOR, job("sync", swapped)));

    assertTrue(why.contains("testData: found 4 samples of 2 classes, expected 4"), why);
  }

  @Test
  @Tag("slow")
  void shouldRefuseAStageWithOtherData() throws Exception {
    JsonObject stages =
        job("allreduce", points)
            .put("engine", "dl4j")
            .put("model", JsonObject.of("name", "mlp"))
            .put("pipeline", JsonObject.of("stages", 2));
    coordinate(known(stages));
    stages.getJsonObject("data").put("directory", swapped.toString());

    Future<String> stage =
        vertx.deployVerticle(new StageVerticle(), new DeploymentOptions().setConfig(stages));

    assertTrue(refusal(stage).contains("it has other data than the job"), refusal(stage));
  }

  @Test
  void shouldRefuseAMemberWithAnotherParametersFileOfTheSameName() throws Exception {
    Path here = Files.createDirectories(folder.resolve("here"));
    Map<String, DataFingerprint> expected =
        JobConfig.read("job", parameters(here, 1)).fingerprints(Set.of(), loader());
    JsonObject there = parameters(Files.createDirectories(folder.resolve("there")), 2);

    Map<String, DataFingerprint> found =
        JobConfig.read("job", there).fingerprints(Set.of(), loader());

    assertEquals(Set.of("parameters"), expected.keySet());
    String difference =
        expected.get("parameters").difference(found.get("parameters")).orElseThrow();
    assertTrue(difference.startsWith("found initial.bin with 3 bytes (hash "), difference);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldRefuseToResumeFromCheckpointsOfOtherData(String strategy) throws Exception {
    train(strategy, points);

    String why = refusal(goOn(strategy, swapped).compose(RunningJob::result));

    assertTrue(why.contains("the run was trained on other data, trainingData: found 12"), why);
  }

  @Test
  void shouldResumeWithOtherSamplesWhenEachNodeHasItsOwn() throws Exception {
    JsonObject job = saving("sync", points);
    job.getJsonObject("workers").put("data", "own");
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    running.events().filter(CheckpointWritten.class::isInstance).blockingFirst();
    get(running.stop());
    job.getJsonObject("data").put("directory", swapped.toString());
    job.getJsonObject("run").put("resumes", 1);

    RunningJob again = get(TrainingJob.of(job).deploy(vertx));

    assertEquals(TrainingResult.State.STOPPED, get(again.stop()).state());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldResumeWithTheSameDataElsewhereOrWithoutAFingerprint(boolean recorded)
      throws Exception {
    train("sync", points);
    Path copy = Files.copy(points, folder.resolve("copy.csv"));
    Files.setLastModifiedTime(copy, FileTime.fromMillis(0));
    if (!recorded) {
      Files.writeString(folder.resolve("checkpoints/run.json"), "{\"run\": \"points\"}");
    }

    RunningJob running = get(goOn("sync", copy));

    assertEquals(TrainingResult.State.STOPPED, get(running.stop()).state());
  }

  /** Trains until there is a checkpoint. */
  private void train(String strategy, Path data) throws Exception {
    RunningJob running = get(TrainingJob.of(saving(strategy, data)).deploy(vertx));
    running.events().filter(CheckpointWritten.class::isInstance).blockingFirst();
    get(running.stop());
  }

  private Future<RunningJob> goOn(String strategy, Path data) {
    JsonObject again = saving(strategy, data);
    again.getJsonObject("run").put("resumes", 1);
    return TrainingJob.of(again).deploy(vertx);
  }

  private JsonObject saving(String strategy, Path data) {
    return job(strategy, data)
        .put("run", JsonObject.of("id", "points"))
        .put(
            "checkpoint",
            JsonObject.of("directory", folder.resolve("checkpoints").toString()).put("every", 5));
  }

  private JsonObject parameters(Path place, int content) throws IOException {
    Path file = Files.write(place.resolve("initial.bin"), new byte[] {1, (byte) content, 3});
    return job("sync", points).put("model", JsonObject.of("parameters", file.toString()));
  }

  /** Returns the job with the fingerprints of its data, as a resumed run has it. */
  private JsonObject known(JsonObject job) {
    JobConfig config = JobConfig.read("job", job);
    return config
        .withFingerprints(config.fingerprints(EnumSet.allOf(Split.class), loader()))
        .json();
  }

  private void coordinate(JsonObject job) throws Exception {
    get(vertx.deployVerticle(new CoordinatorVerticle(), new DeploymentOptions().setConfig(job)));
  }

  private Future<Void> join(Role role, JsonObject job) {
    return LocalMembers.one(role).deploy(vertx, JobConfig.read("job", job));
  }

  private static JsonObject job(String strategy, Path data) {
    return new JsonObject()
        .put("job", "points")
        .put("engine", "quadratic")
        .put("steps", 1_000_000)
        .put("strategy", JsonObject.of("name", strategy))
        .put(
            "data",
            JsonObject.of("name", "csv")
                .put("directory", data.toString())
                .put("label", "class")
                .put("testShare", 0.25))
        .put("optimizer", JsonObject.of("name", "sgd").put("learningRate", 1e-6))
        .put("workers", JsonObject.of("count", 2).put("batch", 4).put("waitSeconds", 20))
        .put("evaluator", JsonObject.of("every", 10));
  }

  private static String refusal(Future<?> refused) {
    Throwable why = assertThrows(ExecutionException.class, () -> get(refused));
    return String.valueOf(why.getCause().getMessage());
  }

  private static ClassLoader loader() {
    return MemberDataTest.class.getClassLoader();
  }

  private static <T> T get(Future<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
