package io.vertigrad.internal.server;

import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests whole jobs in one JVM: coordinator, servers, workers and evaluator on a real, local bus.
 */
final class TrainingJobTest extends PointsJob {

  /** Enough that the parameters reach their limit. */
  private static final long STEPS = 1_000;

  @TempDir Path folder;
  private final AtomicReference<Context> loop = new AtomicReference<>();

  @Test
  void shouldReachTheClosedFormWhenTwoWorkersShareRounds() {
    train(200, new JsonObject().put("name", "sync").put("reduction", "mean"));

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(200, result.getLong("version"));
    assertEquals(200 * 2 * 4, result.getLong("samples"));
    assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
  }

  /** As with the stock launcher, no member was given the number of samples, which is 64. */
  @Test
  void shouldTakeWholePassesWhenEachMemberCountsTheSamplesItself() {
    job.put("epochs", 3).put("strategy", new JsonObject().put("name", "sync"));
    deployAll(null);

    JsonObject result = await(coordinator.result());

    assertEquals(3 * 64 / (2 * 4), result.getLong("version"), result::encode);
    assertEquals(3 * 64, result.getLong("samples"));
    assertEquals(coordinateAfter(24), lossOf(result), 1e-4);
  }

  @Test
  void shouldReportTheTestOfTheInitialParametersAndTopK() {
    job.put("evaluator", new JsonObject().put("topK", 1));
    train(20, new JsonObject().put("name", "sync"));

    JsonObject result = ended();
    await(coordinator.stop("the test is over"));

    Evaluated first =
        events.stream()
            .filter(Evaluated.class::isInstance)
            .map(Evaluated.class::cast)
            .findFirst()
            .orElseThrow();
    assertEquals(0, first.version());
    assertEquals(0, first.loss(), "the quadratic model begins at 0");
    assertEquals(1, first.topK());
    assertEquals(100, first.topAccuracy());
    assertEquals(100, result.getJsonObject("evaluation").getDouble("topAccuracy"));
    assertEquals(100, last(WorkerProgress.class).accuracy(), "every label is 1");
  }

  @Test
  void shouldRefuseTopKOfAllClasses() {
    job.put("evaluator", new JsonObject().put("topK", 2));

    IllegalStateException refused =
        assertThrows(
            IllegalStateException.class, () -> train(20, new JsonObject().put("name", "sync")));

    assertTrue(refused.getMessage().contains("evaluator.topK is 2"), refused.getMessage());
    assertTrue(refused.getMessage().contains("less than the 2 classes"), refused.getMessage());
  }

  /** 64 samples for two workers are 8 batches of 4 each; async counts one version per batch. */
  @ParameterizedTest
  @CsvSource({"sync, 1", "async, 2"})
  void shouldReportEachEpochWithItsMeanTrainingLoss(String strategy, int versionsPerStep) {
    train(20, new JsonObject().put("name", strategy));

    ended();
    await(coordinator.stop("the test is over"));

    // In async, a worker that starts late may take no part in the first epoch.
    List<EpochTrained> told =
        events.stream()
            .filter(EpochTrained.class::isInstance)
            .map(EpochTrained.class::cast)
            .toList();
    assertEquals(Set.of(1L, 2L), told.stream().map(EpochTrained::epoch).collect(toSet()));
    for (EpochTrained epoch : told) {
      assertEquals(epoch.epoch() * 8 * versionsPerStep, epoch.version());
      assertEquals(100, epoch.accuracy(), "every label is 1");
      assertTrue(epoch.seconds() > 0);
      if (strategy.equals("sync")) {
        int last = (int) epoch.version();
        assertEquals(32, epoch.samples());
        assertEquals(meanLoss(last - 8, last), epoch.loss(), 1e-4);
      }
    }
    assertTrue(strategy.equals("async") || told.size() == 4, told.toString());
  }

  /**
   * Returns the mean of {@code 3/2 (w - x)^2} over three coordinates, each step before its update.
   */
  private static double meanLoss(int from, int to) {
    return IntStream.range(from, to)
        .mapToDouble(step -> PointsProvider.COORDINATE - coordinateAfter(step))
        .map(distance -> 1.5 * distance * distance)
        .average()
        .orElseThrow();
  }

  @Test
  void shouldTestEachDueVersionBeforeTrainingContinues() {
    job.put("evaluator", new JsonObject().put("every", 5).put("blocking", true));
    train(300, new JsonObject().put("name", "sync").put("reduction", "mean"));

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    List<Evaluated> tests = tests();
    assertEquals(due(5, 300), tests.stream().map(Evaluated::version).toList());
    tests.forEach(test -> assertEquals(coordinateAfter((int) test.version()), test.loss(), 1e-4));
  }

  @ParameterizedTest
  @CsvSource({"async, 1", "async, 2", "ssp, 2"})
  void shouldTestEveryTenthUpdateOfManyBeforeTheNextIsApplied(String strategy, int servers) {
    job.put("servers", new JsonObject().put("count", servers));
    job.getJsonObject("exchange").put("partitionElements", 1).put("windowBytes", 4);
    job.put("evaluator", new JsonObject().put("every", 10).put("blocking", true));
    train(150, new JsonObject().put("name", strategy));

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    List<Long> expected = due(10, 300);
    assertEquals(expected, tests().stream().map(Evaluated::version).toList());
    assertEquals(300, result.getLong("version"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async"})
  @Tag("slow")
  void shouldContinueWithoutTestsWhenABlockingEvaluatorDies(String strategy) {
    job.put("evaluator", new JsonObject().put("every", 2).put("blocking", true));
    pace(5);
    train(600, new JsonObject().put("name", strategy));
    awaitSoon(() -> tests().size() > 10);

    await(vertx.undeploy(evaluator));
    release();
    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    EvaluationSkipped skipped = last(EvaluationSkipped.class);
    assertEquals("no evaluator takes part", skipped.reason());
    assertTrue(tests().get(tests().size() - 1).version() < skipped.version());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async"})
  @Tag("slow")
  void shouldContinueTestsWhenAWaitingWorkerIsReplaced(String strategy) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    job.put("evaluator", new JsonObject().put("every", 400).put("blocking", true));
    pace(5);
    train(1_000, new JsonObject().put("name", strategy));
    awaitSoon(() -> !tests().isEmpty());

    await(vertx.undeploy(workers.get(1)));
    deploy(new WorkerVerticle());
    release();
    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    int versions = strategy.equals("sync") ? 1_000 : 2_000;
    assertEquals(due(400, versions).size(), tests().size());
    assertTrue(events.stream().noneMatch(EvaluationSkipped.class::isInstance));
  }

  @Test
  void shouldSpreadPartitionsOverTwoShardsWhenThereAreTwoServers() {
    job.put("servers", new JsonObject().put("count", 2));
    job.getJsonObject("exchange").put("partitionElements", 1);
    train(100, new JsonObject().put("name", "sync").put("reduction", "mean"));

    JsonObject result = await(coordinator.result());

    assertEquals(coordinateAfter(100), lossOf(result), 1e-4, result::encode);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  @Tag("slow")
  void shouldContinueFromTheCheckpointWhenAServerIsReplaced(int servers) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    job.put("servers", new JsonObject().put("count", servers));
    job.put("checkpoint", new JsonObject().put("every", 5).put("directory", folder.toString()));
    pace(5);
    String server = train(STEPS, new JsonObject().put("name", "sync").put("reduction", "mean"));
    awaitSoon(() -> versionOfServer() > 20);

    await(vertx.undeploy(server));
    deploy(new ParameterServerVerticle());
    release();
    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
    assertTrue(events.stream().anyMatch(e -> e instanceof CheckpointWritten c && c.version() > 0));
    assertTrue(
        events.stream()
            .anyMatch(event -> event instanceof ServerProgress p && p.incarnation() == 1));
  }

  /** The workers' own limits are far shorter than the job's limit, workers.waitSeconds. */
  @Test
  @Tag("slow")
  void shouldWaitForAnotherServerForLongerThanAnExchangeMayTake() {
    job.getJsonObject("exchange").put("suspectMillis", 300).put("evictMillis", 800);
    job.getJsonObject("exchange").put("deadlineMillis", 1_000);
    job.put("checkpoint", new JsonObject().put("every", 5).put("directory", folder.toString()));
    pace(5);
    String server = train(STEPS, new JsonObject().put("name", "sync").put("reduction", "mean"));
    awaitSoon(() -> versionOfServer() > 20);

    await(vertx.undeploy(server));
    await(vertx.timer(3, TimeUnit.SECONDS));
    deploy(new ParameterServerVerticle());
    release();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"));
  }

  @Test
  @Tag("slow")
  void shouldFinishAlthoughAWorkerIsReplacedDuringTheRun() {
    pace(5);
    train(STEPS, new JsonObject().put("name", "sync").put("reduction", "mean"));
    awaitSoon(() -> versionOfServer() > 20);

    await(vertx.undeploy(workers.get(1)));
    deploy(new WorkerVerticle());
    awaitSoon(() -> happened(e -> e instanceof MemberJoined j && j.incarnation() == 1));
    release();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
  }

  @Test
  @Tag("slow")
  void shouldContinueFromMemoryWhenAStoppedServerReturns() {
    pace(5);
    train(STEPS, new JsonObject().put("name", "sync").put("reduction", "mean"), spy());
    awaitSoon(() -> versionOfServer() > 20);
    CountDownLatch evicted = new CountDownLatch(1);
    loop.get().runOnContext(frozen -> awaitLatch(evicted));

    awaitSoon(() -> happened(MemberLeft.class::isInstance));
    evicted.countDown();
    release();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
  }

  @ParameterizedTest
  @ValueSource(longs = {5, 1_000_000})
  @Tag("slow")
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenOneOfTwoServersCrashed(long every) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    // A blocked event loop is excused for six eviction limits, and longer on a busy machine.
    job.getJsonObject("workers").put("waitSeconds", 60);
    job.put("servers", new JsonObject().put("count", 2));
    job.put("checkpoint", new JsonObject().put("every", every).put("directory", folder.toString()));
    pace(5);
    train(STEPS, new JsonObject().put("name", "sync").put("reduction", "mean"), spy());
    awaitSoon(() -> versionOfServer() > 20);
    CountDownLatch over = new CountDownLatch(1);
    loop.get().runOnContext(crashed -> awaitLatch(over));

    deploy(new ParameterServerVerticle());
    release();
    JsonObject result = await(coordinator.result());
    over.countDown();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
  }

  /** Creates a server and keeps the context of its event loop. */
  private Deployable spy() {
    ParameterServerVerticle server = new ParameterServerVerticle();
    return context -> {
      loop.set(context);
      return server.deploy(context);
    };
  }

  /** Deploys everything; returns the deployment ID of the last server. */
  private String train(long steps, JsonObject strategy) {
    return train(steps, strategy, null);
  }

  private String train(long steps, JsonObject strategy, Deployable otherServer) {
    job.put("steps", steps).put("strategy", strategy);
    return deployAll(otherServer);
  }

  private String deployAll(Deployable otherServer) {
    deploy(coordinator);
    String server = "";
    int servers = job.getJsonObject("servers", new JsonObject()).getInteger("count", 1);
    for (int i = 0; i < servers; i++) {
      server = deploy(i > 0 || otherServer == null ? new ParameterServerVerticle() : otherServer);
    }
    deployEvaluatorAndWorkers(2);
    return server;
  }

  /** Returns the tests on a part of the test set after training had started. */
  private List<Evaluated> tests() {
    return events.stream()
        .filter(Evaluated.class::isInstance)
        .map(Evaluated.class::cast)
        .filter(test -> test.version() > 0 && !test.wholeTestSet())
        .toList();
  }

  /** Returns 1, 1 + every, 1 + 2 every and so on. */
  private static List<Long> due(long every, long last) {
    return LongStream.iterate(1, v -> v <= last, v -> v + every).boxed().toList();
  }

  private static void awaitSoon(Callable<Boolean> condition) {
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(condition);
  }

  private static void awaitLatch(CountDownLatch latch) {
    try {
      latch.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private long versionOfServer() {
    return events.stream()
        .filter(ServerProgress.class::isInstance)
        .mapToLong(event -> ((ServerProgress) event).version())
        .max()
        .orElse(0);
  }
}
