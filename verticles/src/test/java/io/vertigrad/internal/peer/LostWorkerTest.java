package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.fixture.FakeCoordinator;
import io.vertigrad.fixture.ScatteredPoints;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.job.Role;
import io.vertigrad.run.UpdateLedger;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs without servers that lose workers must end with the bits of an undisturbed job. */
@Tag("slow")
class LostWorkerTest extends PointsJob {

  private static final int WORKERS = 3;

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "allreduce, 0, 0, 900",
    "allreduce, 0.9, 0, 900",
    "dpsgd, 0, 30, 900",
    "dpsgd, 0.9, 30, 900",
    "local, 0.9, 30, 900",
    "diloco, 0.9, 30, 900"
  })
  void shouldEndWithTheUndisturbedBitsWhenWorkersAreLost(
      String strategy, double momentum, long checkpointEvery, long steps) {
    prepare(strategy, steps);
    job.getJsonObject("optimizer").put("momentum", momentum);
    String undisturbed = undisturbed();
    job.put(
        "checkpoint",
        new JsonObject().put("every", checkpointEvery).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Random chance = new Random(steps);
    for (int lost = 0; lost < 3; lost++) {
      long seen = version();
      long until = seen + 40 + chance.nextInt(40);
      Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= until);
      members.replace(chance.nextInt(WORKERS));
      int joined = lost + 1;
      Awaitility.await()
          .until(
              () ->
                  events.stream()
                          .filter(e -> e instanceof MemberJoined j && j.incarnation() > 0)
                          .count()
                      >= joined);
    }
    JsonObject result = members.finish();

    assertEquals(undisturbed, hash(result), result::encode);
    assertEquals(checkpointEvery > 0, happened(CheckpointWritten.class::isInstance), "checkpoints");
  }

  /** No other worker has the residual of error feedback in memory. */
  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "diloco", "local", "dpsgd"})
  void shouldEndWithTheUndisturbedBitsWhenGradientsAreCompressed(String strategy) {
    prepare(strategy, 600);
    job.getJsonObject("exchange").put("compression", "topk").put("topShare", 0.1);
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", 20).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 50);
    members.replace(1);

    assertEquals(undisturbed, hash(members.finish()));
  }

  @Test
  void shouldEndWithTheUndisturbedBitsWhenGradientsHaveALowRank() {
    prepare("allreduce", 600);
    job.getJsonObject("strategy").put("powerSgdRank", 1);
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", 20).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 50);
    members.replace(1);

    assertEquals(undisturbed, hash(members.finish()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "sync"})
  void shouldEndWithTheUndisturbedBitsWhenGroupsUseDiLoCoBetweenThem(String strategy) {
    prepare(strategy, 600);
    job.getJsonObject("strategy")
        .put("groups", WORKERS)
        .put("between", settings("diloco").put("name", "diloco"));
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", 20).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 50);
    members.replace(1);

    assertEquals(undisturbed, hash(members.finish()));
  }

  @Test
  void shouldEndWithTheUndisturbedBitsWithQuasiGlobalMomentum() {
    prepare("dpsgd", 600);
    job.getJsonObject("optimizer").put("momentum", 0.9);
    job.getJsonObject("strategy").put("momentum", "quasi-global").put("topology", "base-k");
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", 20).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 50);
    members.replace(1);

    assertEquals(undisturbed, hash(members.finish()));
  }

  /** The initial parameters follow from the seed. */
  @Test
  void shouldStartOverWhenALostReplicaHasNoCheckpoint() {
    prepare("dpsgd", 600);
    String undisturbed = undisturbed();

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 50);
    members.replace(2);

    assertEquals(undisturbed, hash(members.finish()));
  }

  /**
   * No state is left in memory, but all workers have kept checkpoints or the initial parameters.
   */
  @ParameterizedTest
  @CsvSource({"allreduce, 30", "dpsgd, 30", "diloco, 30", "allreduce, 0"})
  void shouldEndWithTheUndisturbedBitsWhenAllWorkersAreLostAtOnce(String strategy, long every) {
    prepare(strategy, 600);
    job.getJsonObject("optimizer").put("momentum", 0.9);
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", every).put("directory", folder.toString()));

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 70);
    members.lose();
    members.join();

    assertEquals(undisturbed, hash(members.finish()));
  }

  /** While the job is paused, all workers are at the same version, so nobody may go back. */
  @ParameterizedTest
  @CsvSource({"allreduce, 0.9, 600", "dpsgd, 0.9, 600", "local, 0.9, 600"})
  void shouldEndWithTheUndisturbedBitsAndEpochsWhenAllWorkersAreEvictedAtOneVersion(
      String strategy, double momentum, long steps) {
    prepare(strategy, steps);
    evictNobodyElse();
    job.getJsonObject("optimizer").put("momentum", momentum);
    String undisturbed = undisturbed();

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 1);
    long paused = members.pause();
    members.evict();
    members.ask("resume");

    assertEquals(undisturbed, hash(members.finish()));
    assertTrue(versionsOf(1).allMatch(version -> version >= paused), "nobody began anew");
    assertEpochs(steps);
  }

  /** The job is not paused, so versions may differ, and then all workers start again. */
  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "dpsgd", "local", "diloco"})
  void shouldEndWithTheUndisturbedBitsAndEpochsWhenAllWorkersAreEvictedAtAnyVersion(
      String strategy) {
    long steps = 600;
    prepare(strategy, steps);
    evictNobodyElse();
    String undisturbed = undisturbed();

    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 1);
    members.evict();
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> versionsOf(1).anyMatch(version -> version > 20));
    members.evict();

    assertEquals(undisturbed, hash(members.finish()));
    assertEpochs(steps);
  }

  /**
   * An evicted worker keeps its replica, however far it is; only a new worker takes the mean of the
   * others. Samples come slowly until the end of the pause, because no worker waits for another one
   * and the fastest would take thousands of steps before it.
   */
  @Test
  void shouldKeepEveryReplicaWhenGossipingWorkersAreEvicted() {
    prepare("gossip", 600);
    pace(3);
    evictNobodyElse();
    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 1);

    members.pause();
    members.evict();
    members.ask("resume");
    JsonObject result = members.finish();

    assertEquals("finished", result.getString("state"), result::encode);
    UpdateLedger ledger = new UpdateLedger();
    events.forEach(ledger::apply);
    assertEquals(List.of(), ledger.problems());
    assertEquals(WORKERS * 600, ledger.sum(UpdatesCounted::applied));
    assertEquals(0, ledger.sum(UpdatesCounted::lost));
  }

  @Test
  void shouldNameTheLostWorkersWhenNobodyCanTakeARank() {
    prepare("allreduce", 1_000_000);
    job.getJsonObject("workers").put("waitSeconds", 3);
    JobMembers members = new JobMembers();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 100);

    members.lose();
    JsonObject result = await(members.coordinator.result());

    assertEquals("failed", result.getString("state"), result::encode);
    assertTrue(result.getString("failure").contains("worker 1"), result::encode);
  }

  /** Uses small steps, because large ones would reach the same bits from other parameters, too. */
  private void prepare(String strategy, long steps) {
    job.getJsonObject("optimizer").put("learningRate", 1e-4);
    job.put("steps", steps)
        .put("data", new JsonObject().put("name", ScatteredPoints.class.getName()))
        .put("strategy", new JsonObject().put("name", strategy).mergeIn(settings(strategy)));
    job.getJsonObject("workers").put("count", WORKERS).put("waitSeconds", 30);
  }

  /** With a delay, a worker may be lost while a fragment is on its way. */
  private static JsonObject settings(String strategy) {
    JsonObject settings = new JsonObject();
    return strategy.equals("diloco")
        ? settings.put("syncEvery", 20).put("fragments", 2).put("fragmentSyncDelay", 7)
        : settings;
  }

  /**
   * Three workers share 70 samples: each has 24 in 6 batches. A worker that was refused, because it
   * could read no checkpoint, is replaced by another worker's process until it joins again. Each
   * process counts the steps that it has trained, so two epochs of this rank are counted in part.
   */
  private void assertEpochs(long steps) {
    Map<Integer, Map<Long, Long>> samples = new TreeMap<>();
    of(EpochTrained.class)
        .forEach(
            epoch ->
                samples
                    .computeIfAbsent(epoch.rank(), rank -> new TreeMap<>())
                    .put(epoch.epoch(), epoch.samples()));
    assertEquals(WORKERS, samples.size());
    samples.forEach(
        (rank, epochs) -> {
          assertEquals(steps / 6, epochs.size());
          long refused =
              of(MemberLeft.class)
                  .filter(left -> left.rank() == rank && left.role() == Role.WORKER)
                  .filter(left -> left.reason().contains("can read no checkpoint"))
                  .count();
          List<Long> others = epochs.values().stream().filter(each -> each != 24).toList();
          assertTrue(others.size() <= 2 * refused, () -> rank + ": " + epochs);
          assertTrue(others.stream().allMatch(each -> each < 24), () -> rank + ": " + epochs);
        });
  }

  private LongStream versionsOf(int incarnation) {
    return of(PeerExchange.class)
        .filter(event -> event.incarnation() == incarnation)
        .mapToLong(PeerExchange::version);
  }

  private <E> Stream<E> of(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast);
  }

  /** On a busy machine a member may be silent for a second. */
  private void evictNobodyElse() {
    job.getJsonObject("exchange").put("suspectMillis", 1_000).put("evictMillis", 10_000);
  }

  /** Trains at full speed; the next job takes some eighty steps a second until it is finished. */
  private String undisturbed() {
    String hash = hash(new JobMembers().train());
    events.clear();
    pace(3);
    return hash;
  }

  private long version() {
    return events.stream()
        .filter(PeerExchange.class::isInstance)
        .mapToLong(e -> ((PeerExchange) e).version())
        .max()
        .orElse(0);
  }

  private static String hash(JsonObject result) {
    assertEquals("finished", result.getString("state"), result::encode);
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  /** All members of one run. */
  private final class JobMembers {

    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String coordinatorId = deploy(coordinator);
    private final List<String> ids = new ArrayList<>();

    JobMembers() {
      deploy(new EvaluatorVerticle());
      join();
    }

    void join() {
      for (int i = 0; i < WORKERS; i++) {
        ids.add(deploy(new WorkerVerticle()));
      }
    }

    void lose() {
      await(Future.all(ids.stream().map(id -> vertx.undeploy(id)).toList()));
      ids.clear();
    }

    void replace(int worker) {
      await(vertx.undeploy(ids.get(worker)));
      ids.set(worker, deploy(new WorkerVerticle()));
    }

    /** Pauses the job. Returns the lowest version once no worker is in a step or begins one. */
    long pause() {
      assertEquals("paused", ask("pause").getString("state"));
      List<JsonObject> before = new ArrayList<>();
      Awaitility.await()
          .atMost(20, TimeUnit.SECONDS)
          .until(
              () -> {
                List<JsonObject> now = workers().stream().map(this::stepState).toList();
                boolean idle =
                    now.equals(before) && now.stream().allMatch(state -> state.getBoolean("idle"));
                before.clear();
                before.addAll(now);
                return idle;
              });
      return before.stream().mapToLong(state -> state.getLong("version")).min().orElseThrow();
    }

    private JsonObject stepState(Admission worker) {
      String address = "vertigrad.points.worker.%d.%d";
      return await(
              vertx
                  .eventBus()
                  .<JsonObject>request(
                      address.formatted(worker.rank(), worker.incarnation()),
                      new JsonObject().put("command", "status")))
          .body();
    }

    private List<Admission> workers() {
      Map<Integer, Integer> last = new TreeMap<>();
      of(MemberJoined.class)
          .filter(event -> event.role() == Role.WORKER)
          .forEach(event -> last.put(event.rank(), event.incarnation()));
      return last.entrySet().stream()
          .map(rank -> new Admission(Role.WORKER, rank.getKey(), rank.getValue()))
          .toList();
    }

    /** Evicts all workers and waits until they have joined again. */
    void evict() {
      long joined = of(MemberJoined.class).count();
      for (Admission worker : workers()) {
        JsonObject leave =
            ControlCodec.write(worker)
                .put("request", "leave")
                .put("reason", "taken for dead")
                .put("status", new JsonObject());
        vertx.eventBus().send("vertigrad.points.coordinator", leave);
      }
      Awaitility.await()
          .atMost(20, TimeUnit.SECONDS)
          .until(() -> of(MemberJoined.class).count() >= joined + WORKERS);
    }

    JsonObject ask(String request) {
      return new FakeCoordinator(vertx, "points").ask(request);
    }

    JsonObject finish() {
      release();
      return train();
    }

    JsonObject train() {
      JsonObject result = await(coordinator.result());
      await(coordinator.stop("the test is over"));
      await(vertx.undeploy(coordinatorId));
      return result;
    }
  }
}
