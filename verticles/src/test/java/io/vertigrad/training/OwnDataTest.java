package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.PointsProvider;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests workers that have samples of their own: of their node, or a part of the job's. */
@Timeout(60)
class OwnDataTest {

  private static final double RATE = 0.05;
  private static final int STEPS = 60;
  private static final long LIMIT_SECONDS = 40;

  @TempDir private Path folder;
  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldStepByTheMeanOfAllSamplesWhenEachNodeHasItsOwn(String strategy) throws Exception {
    JsonObject large = own(strategy, data("large", 6, "0,1,1,1\n"));
    JsonObject small = own(strategy, data("small", 2, "1,4,4,4\n"));
    LocalMembers here = LocalMembers.of(JobConfig.read("job", large)).withWorkers(1);

    RunningJob running = get(TrainingJob.of(large).here(here).deploy(vertx));
    get(LocalMembers.one(Role.WORKER).deploy(vertx, JobConfig.read("job", small)));
    TrainingResult result = get(running.result());

    // The gradient is w - mean, weighted by samples: 6 times 1 and twice 4.
    double mean = (6 * 1 + 2 * 4) / 8.0;
    assertEquals(mean * (1 - Math.pow(1 - RATE, STEPS)), result.loss(), 1e-5);
    assertEquals(STEPS * 8, result.samples());
    List<TrainingEvent> events = running.events().toList().blockingGet();
    assertEquals(List.of(6, 0), counted(events, 0).labels());
    assertEquals(6, counted(events, 0).samples());
    assertEquals(List.of(0, 2), counted(events, 1).labels());
    // The model's loss is its first coordinate; a sample of class 1 counts as correct.
    for (ScalarReported loss : scalars(events, SamplesCounted.LOSS)) {
      double expected = mean * (1 - Math.pow(1 - RATE, loss.version()));
      assertEquals(expected, loss.value(), 1e-5, loss::toString);
    }
    for (ScalarReported accuracy : scalars(events, SamplesCounted.ACCURACY)) {
      assertEquals(accuracy.source().equals("worker 1") ? 100 : 0, accuracy.value());
    }
  }

  private static SamplesCounted counted(List<TrainingEvent> events, int rank) {
    return events.stream()
        .filter(SamplesCounted.class::isInstance)
        .map(SamplesCounted.class::cast)
        .filter(counted -> counted.rank() == rank)
        .findFirst()
        .orElseThrow();
  }

  /** Returns the reports of both workers. */
  private static List<ScalarReported> scalars(List<TrainingEvent> events, String name) {
    List<ScalarReported> found =
        events.stream()
            .filter(ScalarReported.class::isInstance)
            .map(ScalarReported.class::cast)
            .filter(scalar -> scalar.name().equals(name))
            .toList();
    assertEquals(2, found.stream().map(ScalarReported::source).distinct().count(), name);
    return found;
  }

  @Test
  void shouldRefuseANodeWhenItsSamplesHaveAnotherForm() throws Exception {
    JsonObject job = own("sync", data("three", 6, "0,1,1,1\n"));
    LocalMembers here = LocalMembers.of(JobConfig.read("job", job)).withWorkers(1);
    RunningJob running = get(TrainingJob.of(job).here(here).deploy(vertx));
    JobConfig other = JobConfig.read("job", own("sync", data("two", 6, "0,1,1\n")));

    Future<Void> refused = LocalMembers.one(Role.WORKER).deploy(vertx, other);

    String why = assertThrows(ExecutionException.class, () -> get(refused)).getMessage();
    assertTrue(
        why.contains(
            "is refused: its samples have another form than the job's, trainingData: found samples"
                + " of 2 with 2 classes, expected samples of 3 with 2 classes; only their number and"
                + " their values may differ"),
        why);
    get(running.stop());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "allreduce", "dpsgd", "diloco"})
  void shouldTrainEachWorkerOnItsPartWhenThereIsAPartition(String strategy) throws Exception {
    JsonObject job = points(strategy, "quantity");
    job.getJsonObject("workers").getJsonObject("partition").put("alpha", 1);

    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    TrainingResult result = get(running.result());

    List<TrainingEvent> events = running.events().toList().blockingGet();
    int first = counted(events, 0).samples();
    assertTrue(first >= 10 && first <= 54, "worker 0 has " + first);
    assertEquals(64 - first, counted(events, 1).samples());
    assertTrue(result.loss() > 0.5 * PointsProvider.COORDINATE, result::toString);
  }

  @Test
  void shouldSayThatAWorkerHasNothingWhenItsLabelsHaveNoSamples() {
    JsonObject job = points("sync", "byLabel");
    job.getJsonObject("workers").getJsonObject("partition").put("labels", 1);

    Future<RunningJob> deployed = TrainingJob.of(job).deploy(vertx);

    String why =
        assertThrows(ExecutionException.class, () -> get(deployed.compose(RunningJob::result)))
            .getMessage();
    assertTrue(
        why.contains("workers.partition: 64 samples for 2 workers, expected at least 1 for each"),
        why);
  }

  @Test
  void shouldNameTheWorkerWhenItsSamplesAreFewerThanABatch() throws Exception {
    JsonObject job = own("sync", data("few", 3, "0,1,1,1\n"));
    job.getJsonObject("workers").put("dropLast", true).put("count", 1);

    Future<RunningJob> deployed = TrainingJob.of(job).deploy(vertx);

    String why =
        assertThrows(ExecutionException.class, () -> get(deployed.compose(RunningJob::result)))
            .getMessage();
    assertTrue(why.contains("the worker of this node: workers.batch is 8"), why);
    assertTrue(why.contains("has 3 samples"), why);
  }

  private JsonObject own(String strategy, Path data) {
    JsonObject json = job(strategy);
    json.getJsonObject("workers").put("data", "own");
    return json.put(
        "data",
        JsonObject.of("name", "csv", "classes", 2, "normalization", "raw")
            .put("directory", data.toString()));
  }

  private static JsonObject points(String strategy, String kind) {
    JsonObject json = job(strategy).put("data", JsonObject.of("name", "points"));
    json.getJsonObject("workers").put("partition", JsonObject.of("kind", kind));
    return json;
  }

  private static JsonObject job(String strategy) {
    return new JsonObject()
        .put("job", "own")
        .put("engine", "quadratic")
        .put("steps", STEPS)
        .put("strategy", JsonObject.of("name", strategy))
        .put("optimizer", JsonObject.of("name", "sgd").put("learningRate", RATE))
        .put("workers", JsonObject.of("count", 2).put("batch", 8).put("waitSeconds", 30))
        .put("evaluator", JsonObject.of("every", 5));
  }

  private Path data(String name, int rows, String row) throws IOException {
    Path data = Files.createDirectory(folder.resolve(name));
    Files.writeString(data.resolve("train.csv"), row.repeat(rows));
    Files.writeString(data.resolve("test.csv"), row.repeat(2));
    return data;
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
