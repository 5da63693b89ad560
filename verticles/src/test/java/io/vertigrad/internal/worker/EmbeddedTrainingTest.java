package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.run.UpdateLedger;
import io.vertigrad.strategy.Membership;
import io.vertigrad.training.FinalModel;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
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
import org.junit.jupiter.params.provider.ValueSource;

/** Trains with every role in one JVM, with the real engine, on generated digits. */
@Tag("slow")
@Timeout(120)
class EmbeddedTrainingTest {

  private static final int STEPS = 100;
  private static final int BATCH = 128;

  /** Steps of a job that a test disturbs; it takes some thirty a second until it is finished. */
  private static final int LONG = 200;

  /** The hashes of undisturbed runs by their jobs, which several tests compare with. */
  private static final Map<JsonObject, String> UNDISTURBED = new HashMap<>();

  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  private final JsonObject job =
      new JsonObject()
          .put("job", "embedded")
          .put("steps", STEPS)
          .put("optimizer", new JsonObject().put("learningRate", 0.1))
          .put(
              "data", new JsonObject().put("name", "digits").put("train", 4_000).put("test", 1_000))
          .put("workers", new JsonObject().put("count", 2).put("batch", BATCH));
  @TempDir private Path released;
  private Vertx vertx;
  private CoordinatorVerticle coordinator;
  private String coordinatorId;

  @BeforeEach
  void startVertx() {
    vertx = Vertx.vertx();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.embedded.events", m -> events.add(TrainingEvent.fromJson(m.body())));
  }

  @AfterEach
  void closeVertx() throws Exception {
    if (coordinator != null) {
      get(coordinator.stop("the test is over"));
    }
    get(vertx.close());
  }

  @Test
  void shouldReachEightyPercentWhenWorkersMoveInRounds() throws Exception {
    JsonObject result = train();

    assertEquals("finished", result.getString("state"));
    assertEquals(STEPS, result.getLong("version"));
    JsonObject end = result.getJsonObject("evaluation");
    assertEquals(1_000, end.getInteger("samples"));
    assertTrue(end.getDouble("accuracy") > 80, end.encode());
    // The event of the last test may arrive after the result.
    Awaitility.await()
        .atMost(10, TimeUnit.SECONDS)
        .until(() -> last(Evaluated.class, test -> true).version() == STEPS);
    List<Evaluated> tests = of(Evaluated.class);
    // The test of the whole set replaces the last version's part if it begins first.
    assertTrue(tests.stream().filter(e -> !e.wholeTestSet()).count() > 1, tests.toString());
    assertTrue(tests.stream().anyMatch(Evaluated::wholeTestSet), tests.toString());
  }

  @Test
  void shouldEndWithTheSameBitsWhenTheSeedIsTheSame() throws Exception {
    job.put("steps", 20);
    String first = train().getJsonObject("evaluation").getString("parametersHash");
    get(coordinator.stop("once more"));
    get(vertx.undeploy(coordinatorId));

    String second = train().getJsonObject("evaluation").getString("parametersHash");

    assertEquals(first, second);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndWithTheSameBitsWhenGradientsAreSentWhileTheyAreComputed(String strategy)
      throws Exception {
    job.put("steps", 20)
        .put("strategy", new JsonObject().put("name", strategy))
        .put("model", new JsonObject().put("name", "mlp").put("hidden", 128));
    String whole = hashOfAnUndisturbedRun();

    job.put("exchange", new JsonObject().put("overlap", true));

    assertEquals(whole, hash(train()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndWithTheSameBitsWhenAWorkerIsReplacedWhileItSendsAndComputes(String strategy)
      throws Exception {
    job.put("steps", LONG)
        .put("strategy", new JsonObject().put("name", strategy))
        .put("model", new JsonObject().put("name", "mlp").put("hidden", 32))
        .put("exchange", new JsonObject().put("partitionElements", 4_000).put("overlap", true));
    String undisturbed = hashOfAnUndisturbedRun();
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(deployed.size() - 3)));
    get(deploy(new WorkerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
  }

  @Test
  void shouldApplyEveryUpdateOnceWhenWorkersDoNotWait() throws Exception {
    job.put("strategy", new JsonObject().put("name", "async"));

    JsonObject result = train();

    assertEquals(2L * STEPS, result.getLong("version"));
    long samples =
        List.of(0, 1).stream()
            .map(rank -> last(WorkerProgress.class, progress -> progress.rank() == rank))
            .mapToLong(WorkerProgress::samples)
            .sum();
    assertEquals(result.getLong("samples"), samples);
    long applied =
        List.of(0, 1).stream()
            .map(rank -> last(WorkerProgress.class, progress -> progress.rank() == rank))
            .flatMap(progress -> progress.staleness().values().stream())
            .mapToLong(Long::longValue)
            .sum();
    assertEquals(2L * STEPS, applied);
    assertTrue(result.getJsonObject("evaluation").getDouble("accuracy") > 60, result.encode());
  }

  @Test
  void shouldFinishWhenAWorkerIsReplacedInTheMiddle() throws Exception {
    job.put("steps", LONG);
    String undisturbed = hashOfAnUndisturbedRun();
    List<String> deployed = start();
    String firstWorker = deployed.get(1);
    awaitStep(20);

    get(vertx.undeploy(firstWorker));
    get(deploy(new WorkerVerticle()));
    JsonObject result = finish();

    assertEquals(undisturbed, hash(result));

    assertEquals("finished", result.getString("state"));
    assertEquals(LONG, result.getLong("version"));
    List<String> reasons = of(MemberLeft.class).stream().map(MemberLeft::reason).toList();
    assertTrue(reasons.contains("stopped"), reasons.toString());
    assertTrue(result.getJsonObject("evaluation").getDouble("accuracy") > 80, result.encode());
  }

  @Test
  void shouldMoveTheRankOfALostWorkerToTheOtherWhenNobodyReplacesIt() throws Exception {
    job.put("steps", LONG);
    String undisturbed = hashOfAnUndisturbedRun();
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(2)));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    int lost = of(MemberLeft.class).get(0).rank();
    WorkerProgress moved = last(WorkerProgress.class, progress -> progress.rank() == lost);
    assertEquals(1, moved.incarnation());
    assertEquals(LONG, moved.step());
  }

  @Test
  void shouldReturnARankWhenItsWorkerRejoins() throws Exception {
    job.put("steps", LONG);
    String undisturbed = hashOfAnUndisturbedRun();
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(2)));
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> of(MemberJoined.class).stream().anyMatch(j -> j.incarnation() == 1));
    get(deploy(new WorkerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    int lost = of(MemberLeft.class).get(0).rank();
    assertEquals(2, last(WorkerProgress.class, progress -> progress.rank() == lost).incarnation());
  }

  @Test
  void shouldJoinAgainWhenTheCoordinatorEvictedIt() throws Exception {
    job.put("steps", LONG);
    String undisturbed = hashOfAnUndisturbedRun();
    start();
    awaitStep(20);

    evict(new Admission(Role.WORKER, 1, 0));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    WorkerProgress rejoined = last(WorkerProgress.class, progress -> progress.rank() == 1);
    assertEquals(1, rejoined.incarnation());
    assertEquals(undisturbed, hash(result));
    assertEquals(LONG, rejoined.version());
  }

  /** Covers state from the server's memory or checkpoints, and residuals of the same version. */
  @ParameterizedTest
  @CsvSource({"false, none", "true, none", "true, topk"})
  void shouldEndWithTheSameBitsWhenAllMembersAreEvictedAtOnce(
      boolean server, String compression, @TempDir Path folder) throws Exception {
    job.put("steps", LONG);
    if (!compression.equals("none")) {
      job.put("exchange", new JsonObject().put("compression", compression));
      job.put("checkpoint", new JsonObject().put("every", 10).put("directory", folder.toString()));
    }
    job.put("run", new JsonObject().put("id", "undisturbed"));
    String undisturbed = hashOfAnUndisturbedRun();
    job.put("run", new JsonObject().put("id", "disturbed"));
    if (job.containsKey("checkpoint")) {
      job.getJsonObject("checkpoint").put("directory", folder.resolve("disturbed").toString());
    }
    start();
    awaitStep(20);

    if (server) {
      evict(new Admission(Role.SERVER, 0, 0));
    }
    evict(new Admission(Role.WORKER, 0, 0));
    evict(new Admission(Role.WORKER, 1, 0));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    assertEquals(server ? 1 : 0, last(ServerProgress.class, progress -> true).incarnation());
    assertEquals(2 * LONG, balanced().sum(UpdatesCounted::applied));
  }

  @Test
  void shouldFinishWhenTheServerIsReplacedInTheMiddle(@TempDir Path checkpoints) throws Exception {
    job.put("steps", LONG);
    job.put(
        "checkpoint", new JsonObject().put("every", 10).put("directory", checkpoints.toString()));
    job.put("run", new JsonObject().put("id", "undisturbed"));
    String undisturbed = hashOfAnUndisturbedRun();
    job.getJsonObject("checkpoint").put("directory", checkpoints.resolve("disturbed").toString());
    job.getJsonObject("run").put("id", "disturbed");
    String server = start().get(0);
    awaitStep(30);

    get(vertx.undeploy(server));
    get(deploy(new ParameterServerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    assertEquals(LONG, result.getLong("version"));
    assertTrue(result.getJsonObject("evaluation").getDouble("accuracy") > 80, result.encode());
    UpdateLedger ledger = balanced();
    assertEquals(2 * LONG, ledger.sum(UpdatesCounted::applied), ledger.toJson().encode());
  }

  /** The limit of an answer stands still while the job waits for a server. */
  @Test
  void shouldWaitForAServerLongerThanForAnAnswer(@TempDir Path checkpoints) throws Exception {
    // Longer than any step on a busy machine: only the missing server may take as long.
    long answer = 6_000;
    job.put("steps", LONG);
    job.put("strategy", new JsonObject().put("name", "sync").put("deadlineMillis", answer / 2));
    job.put("exchange", new JsonObject().put("deadlineMillis", answer));
    job.put("run", new JsonObject().put("id", "disturbed"));
    job.put(
        "checkpoint", new JsonObject().put("every", 10).put("directory", checkpoints.toString()));
    String server = start().get(0);
    awaitStep(30);

    get(vertx.undeploy(server));
    get(vertx.timer(answer + answer / 4, TimeUnit.MILLISECONDS));
    assertTrue(
        events.stream().noneMatch(e -> e instanceof MemberLeft left && left.role() == Role.WORKER));
    get(deploy(new ParameterServerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(2 * LONG, balanced().sum(UpdatesCounted::applied));
  }

  @Test
  void shouldSaveTheModelFromTheReplacementOfAServerThatIsLostAfterTheLastStep(@TempDir Path folder)
      throws Exception {
    job.put("steps", 40);
    job.put("checkpoint", new JsonObject().put("every", 30).put("directory", folder.toString()));
    AtomicReference<Membership> membership = new AtomicReference<>();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.embedded.control",
            message ->
                Optional.ofNullable(message.body().getJsonObject("membership"))
                    .ifPresent(now -> membership.set(Membership.fromJson(now))));
    String server = start().get(0);
    String trained = hash(get(coordinator.result()));
    Membership before = membership.get();

    get(vertx.undeploy(server));
    JobConfig config = JobConfig.read("job", job);
    Future<Evaluated> saved =
        new FinalModel(vertx, config, before).save(folder.resolve("m.zip"), Optional.empty());
    get(deploy(new ParameterServerVerticle()));

    assertEquals(trained, get(saved).parametersHash());
    assertEquals(40, get(saved).version());
    assertTrue(Files.exists(folder.resolve("m.zip")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"async", "ssp"})
  void shouldAccountForEveryUpdateWhenServerAndWorkerAreReplacedInAsync(
      String strategy, @TempDir Path checkpoints) throws Exception {
    job.put("steps", LONG).put("strategy", new JsonObject().put("name", strategy));
    job.put(
        "checkpoint", new JsonObject().put("every", 10).put("directory", checkpoints.toString()));
    pace();
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(1)));
    get(deploy(new WorkerVerticle()));
    awaitStep(40);
    get(vertx.undeploy(deployed.get(0)));
    get(deploy(new ParameterServerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    UpdateLedger ledger = balanced();
    assertEquals(2 * LONG, ledger.sum(UpdatesCounted::applied), ledger.toJson().encode());
  }

  @ParameterizedTest
  @ValueSource(strings = {"topk", "int8"})
  void shouldEndWithTheSameBitsWhenMembersWithCompressionAreReplaced(
      String compression, @TempDir Path folder) throws Exception {
    job.put("steps", LONG).put("exchange", new JsonObject().put("compression", compression));
    JsonObject checkpoint = new JsonObject().put("every", 10);
    job.put("checkpoint", checkpoint.put("directory", folder.resolve("undisturbed").toString()));
    String undisturbed = hashOfAnUndisturbedRun();
    checkpoint.put("directory", folder.resolve("disturbed").toString());
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(1)));
    get(deploy(new WorkerVerticle()));
    awaitStep(40);
    get(vertx.undeploy(deployed.get(0)));
    get(deploy(new ParameterServerVerticle()));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    balanced();
  }

  /** The coordinator finds divisions beside the checkpoints, as in a resumed run. */
  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndWithTheSameBitsWhenWorkersWithUnlikeBatchesAreReplaced(
      String strategy, @TempDir Path folder) throws Exception {
    job.put("steps", 120).put("strategy", new JsonObject().put("name", strategy));
    job.getJsonObject("workers").put("balance", "speed");
    String divisions =
        "{'divisions':[{'from':0,'until':30,'shares':[32,32]},"
            + "{'from':30,'until':1000,'shares':[50,14]}]}";
    Files.writeString(folder.resolve("divisions.json"), divisions.replace('\'', '"'));
    job.put("checkpoint", new JsonObject().put("directory", folder.toString()).put("seconds", 0));
    String undisturbed = hashOfAnUndisturbedRun();
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(1)));
    get(deploy(new WorkerVerticle()));
    awaitStep(40);
    evict(new Admission(Role.WORKER, 0, 0));
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    WorkerProgress large = last(WorkerProgress.class, progress -> progress.rank() == 0);
    WorkerProgress small = last(WorkerProgress.class, progress -> progress.rank() == 1);
    assertTrue(large.samples() > 2 * small.samples(), large + " and " + small);
  }

  /** Covers what a worker begins its factors with, and matrices that partitions cut. */
  @Test
  void shouldEndWithTheSameBitsWhenMembersWithPowerSgdAreReplaced(@TempDir Path folder)
      throws Exception {
    job.put("steps", LONG)
        .put("model", new JsonObject().put("name", "mlp").put("hidden", 64))
        .put("strategy", new JsonObject().put("name", "sync").put("powerSgdRank", 2))
        .put("exchange", new JsonObject().put("partitionElements", 10_000));
    JsonObject checkpoint = new JsonObject().put("every", 10);
    job.put("checkpoint", checkpoint.put("directory", folder.resolve("undisturbed").toString()));
    String undisturbed = hashOfAnUndisturbedRun();
    checkpoint.put("directory", folder.resolve("disturbed").toString());
    List<String> deployed = start();
    awaitStep(20);

    get(vertx.undeploy(deployed.get(1)));
    get(deploy(new WorkerVerticle()));
    String server = deployed.get(0);
    // Some of these are between two partitions of a round.
    for (int step = 40; step < LONG - 20; step += 12) {
      awaitStep(step);
      get(vertx.undeploy(server));
      server = get(deploy(new ParameterServerVerticle()));
    }
    JsonObject result = finish();

    assertEquals("finished", result.getString("state"), result.encode());
    assertEquals(undisturbed, hash(result));
    assertTrue(result.getJsonObject("evaluation").getDouble("accuracy") > 80, result.encode());
    WorkerProgress last = last(WorkerProgress.class, progress -> true);
    assertTrue(last.bytesSaved() > 2 * last.bytesSent(), last.toString());
    balanced();
  }

  @Test
  void shouldFailItsDeploymentWhenDataIsMissing() throws Exception {
    job.put("data", new JsonObject().put("name", "mnist").put("directory", "/nowhere/mnist"));

    ExecutionException failure =
        assertThrows(ExecutionException.class, () -> get(deploy(new WorkerVerticle())));

    assertInstanceOf(DataException.class, failure.getCause());
    assertTrue(failure.getCause().getMessage().contains("/nowhere/mnist"));
  }

  @Test
  void shouldFailItsDeploymentWhenTheModelIsUnknown() {
    job.put("model", new JsonObject().put("name", "lenet-99"));

    ExecutionException failure =
        assertThrows(ExecutionException.class, () -> get(deploy(new EvaluatorVerticle())));

    assertTrue(failure.getCause().getMessage().contains("lenet-99"), failure.toString());
  }

  /** Makes the coordinator remove a member that is still alive. */
  private void evict(Admission member) {
    JsonObject leave =
        ControlCodec.write(member)
            .put("request", "leave")
            .put("reason", "taken for dead")
            .put("status", new JsonObject());
    vertx.eventBus().send("vertigrad.embedded.coordinator", leave);
  }

  /** Returns the ledger of the run and checks that no update is missing. */
  private UpdateLedger balanced() {
    UpdateLedger ledger = new UpdateLedger();
    events.forEach(ledger::apply);
    assertEquals(List.of(), ledger.problems());
    assertTrue(ledger.isKnown());
    assertEquals(0, ledger.sum(UpdatesCounted::lost));
    return ledger;
  }

  /** Trains unless the same job was trained before; where it keeps checkpoints does not matter. */
  private String hashOfAnUndisturbedRun() throws Exception {
    job.getJsonObject("workers").put("batch", 32);
    JsonObject trained = job.copy();
    trained.remove("run");
    trained.remove("checkpoint");
    if (!UNDISTURBED.containsKey(trained)) {
      UNDISTURBED.put(trained, hash(train()));
      get(coordinator.stop("once more"));
      get(vertx.undeploy(coordinatorId));
      events.clear();
    }
    pace();
    return UNDISTURBED.get(trained);
  }

  private static String hash(JsonObject result) {
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  /** Makes the samples of the next job come slowly until it is finished. */
  private void pace() {
    job.getJsonObject("workers").put("batch", 32);
    job.getJsonObject("data")
        .put("name", "paced")
        .put("millis", 1)
        .put("until", released.resolve("released").toString());
  }

  /** Lets the job continue at full speed; returns its result. */
  private JsonObject finish() throws Exception {
    Files.createFile(released.resolve("released"));
    return get(coordinator.result());
  }

  private JsonObject train() throws Exception {
    start();
    return get(coordinator.result());
  }

  /**
   * Deploys all roles. Returns the ids of the server, if there is one, the workers and the
   * evaluator.
   */
  private List<String> start() throws Exception {
    coordinator = new CoordinatorVerticle();
    coordinatorId = get(deploy(coordinator));
    List<Future<String>> members = new ArrayList<>();
    if (!job.getJsonObject("strategy", new JsonObject())
        .getString("name", "")
        .equals("allreduce")) {
      members.add(deploy(new ParameterServerVerticle()));
    }
    members.add(deploy(new WorkerVerticle()));
    members.add(deploy(new WorkerVerticle()));
    members.add(deploy(new EvaluatorVerticle()));
    return get(Future.all(members)).list();
  }

  private void awaitStep(long step) {
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(
            () -> of(WorkerProgress.class).stream().anyMatch(progress -> progress.step() > step));
  }

  private Future<String> deploy(Deployable verticle) {
    return vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(job));
  }

  private <T extends TrainingEvent> List<T> of(Class<T> type) {
    return events.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private <T extends TrainingEvent> T last(Class<T> type, Predicate<T> wanted) {
    List<T> found = of(type).stream().filter(wanted).toList();
    return found.get(found.size() - 1);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
