package io.vertigrad.verticles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.fixture.DeviceEngine;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyService;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.DeviceModel;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.StrategyVerticleTest.BrokenProvider;
import io.vertigrad.verticles.StrategyVerticleTest.BrokenServerProvider;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests members whose strategy is in another JVM, so that they run there. Here both are in the same
 * Vert.x: the strategy is only not registered for members of this JVM.
 */
class RemoteStrategyTest extends PointsJob {

  private static final String PLACE = "vertigrad.points.strategy.";

  private final AtomicLong moves = new AtomicLong();

  @TempDir private Path checkpoints;

  @ParameterizedTest
  @CsvSource({"sync", "dpsgd", "allreduce", "local", "diloco"})
  void shouldEndWithTheSameParametersAsInTheMembersJvm(String strategy) {
    train(strategy, 200);
    deployApart();
    deployMembers();

    assertFinishedAfter(200);
    assertEquals(1, moves.get(), "it ran beside its strategy");
  }

  /** The strategy's JVM has a model for the initial parameters, which computes nothing. */
  @ParameterizedTest
  @CsvSource({"dpsgd", "local"})
  void shouldStepInJavaWhenTheGradientsComeFromADeviceElsewhere(String strategy) {
    DeviceEngine.stepOnDevices(true);
    job.put("engine", "device");
    train(strategy, 100);
    deployApart();
    deployMembers();

    assertFinishedAfter(100);
    assertEquals(1, moves.get(), "it ran beside its strategy");
    DeviceModel computing =
        DeviceEngine.BUILT.stream()
            .filter(model -> model.gradientsDown > 0)
            .findFirst()
            .orElseThrow();
    assertEquals(100, computing.gradientsDown);
    for (String worker : List.of("worker 0", "worker 1")) {
      Awaitility.await(worker)
          .atMost(10, TimeUnit.SECONDS)
          .until(() -> happened(e -> isScalar(e, worker, 99, 100)));
    }
  }

  @ParameterizedTest
  @CsvSource({"async", "ssp", "sync with a quorum", "diloco with servers"})
  void shouldRunEveryStrategyOfServersBesideIt(String strategy) {
    train(strategy, 200);
    deployApart();
    deployMembers();

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(1, moves.get(), "it ran beside its strategy");
    if (strategy.equals("diloco with servers")) {
      assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
    }
  }

  @ParameterizedTest
  @CsvSource({"sync", "async", "ssp", "dpsgd", "allreduce"})
  @Tag("slow")
  void shouldContinueWhenItIsReplaced(String strategy) {
    trainPaced(strategy, 600);
    String first = deployApart();
    deployMembers();
    awaitVersion(20);

    await(vertx.undeploy(first));
    deployApart();
    release();

    assertFinishedAfter(600);
    assertTrue(moves.get() >= 2, "it ran beside the second one, too: " + moves);
  }

  @ParameterizedTest
  @CsvSource({"sync", "async", "dpsgd"})
  @Tag("slow")
  void shouldServeAReplacementOfItsMember(String strategy) {
    trainPaced(strategy, 600);
    deployApart();
    String first = hasServers() ? deploy(new ParameterServerVerticle()) : "";
    deployEvaluatorAndWorkers(2);
    awaitVersion(20);

    if (hasServers()) {
      await(vertx.undeploy(first));
      deploy(new ParameterServerVerticle());
    } else {
      await(vertx.undeploy(workers.get(0)));
      deploy(new WorkerVerticle());
    }
    release();

    assertFinishedAfter(600);
    assertTrue(moves.get() >= 2, "both ran beside it: " + moves);
  }

  @ParameterizedTest
  @CsvSource({"sync", "ssp", "dpsgd", "allreduce"})
  @Tag("slow")
  void shouldContinueFromMemoryWhenAllMembersAreEvicted(String strategy) {
    trainPaced(strategy, 600);
    job.remove("checkpoint");
    deployApart();
    deployMembers();
    awaitVersion(20);

    coordinator.processEnded(ProcessHandle.current().pid(), "cut off");
    release();

    assertFinishedAfter(600);
  }

  @ParameterizedTest
  @CsvSource({"sync", "async", "dpsgd"})
  @Tag("slow")
  void shouldFailAMemberNamingTheStrategyThatDoesNotComeBack(String strategy) {
    trainPaced(strategy, 1_000_000);
    job.getJsonObject("exchange").put("deadlineMillis", 3_000);
    if (strategy.equals("sync")) {
      job.getJsonObject("strategy").put("deadlineMillis", 2_900);
    }
    String first = deployApart();
    deployMembers();
    awaitVersion(20);

    await(vertx.undeploy(first));

    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(
            () ->
                happened(
                    e ->
                        e instanceof MemberLeft left
                            && left.reason().contains("no strategy verticle has been at " + PLACE)
                            && left.reason().contains("for 2500 ms; start it again")));
  }

  @ParameterizedTest
  @ValueSource(classes = {BrokenProvider.class, BrokenServerProvider.class})
  void shouldFailTheJobOnceNamingTheRuleWhenItBreaks(Class<?> provider) {
    train(provider.getName(), 1_000);
    job.getJsonObject("workers").put("count", 1);
    deployApart();
    if (hasServers()) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(1);

    JsonObject result = await(coordinator.result());

    String why =
        "%s: strategy \"%s\" failed at %s: java.lang."
            .formatted(
                hasServers() ? "server 0" : "worker 0",
                provider.getName(),
                hasServers() ? "partition 0, version 20" : "step 0");
    assertEquals("failed", result.getString("state"), result::encode);
    assertTrue(result.getString("failure").startsWith(why), result::encode);
    assertTrue(result.getString("failure").contains(": this rule is broken, at "), result::encode);
    assertEquals(1, moves.get(), "it ran beside its strategy, and not again");
  }

  @Test
  void shouldRefuseAServerWhoseStrategyHasAnotherJobFile() {
    train("sync", 10);
    deploy(coordinator);
    job.getJsonObject("optimizer").put("learningRate", 0.02);
    deploy(new Apart());
    job.getJsonObject("optimizer").put("learningRate", 0.01);

    Exception refused = assertThrows(Exception.class, () -> deploy(new ParameterServerVerticle()));

    assertTrue(
        refused
            .getMessage()
            .contains(
                "beside the strategy, differs from this process in optimizer.learningRate: found"
                    + " 0.02, expected 0.01; start both with the same job file and data"),
        refused.getMessage());
  }

  @Test
  void shouldRefuseAStageByName() {
    train("allreduce", 10);
    job.put("pipeline", new JsonObject().put("stages", 2));
    deployApart();
    JobConfig config = JobConfig.read("test", job);

    Exception refused =
        assertThrows(
            Exception.class,
            () ->
                await(
                    new StrategyFinder(vertx, vertx.getOrCreateContext(), config, Role.WORKER)
                        .beside(0, 0)));

    assertTrue(
        refused
            .getMessage()
            .contains(
                "stage 0: strategy \"allreduce\" has its verticle in another JVM, at "
                    + PLACE
                    + "worker.0, where this member cannot run, because it is a stage; deploy it in"
                    + " this JVM, or leave it out"),
        refused.getMessage());
  }

  @Test
  void shouldRefuseASecondStrategyAtTheSamePlace() {
    train("dpsgd", 10);
    deployApart();

    Exception refused = assertThrows(Exception.class, this::deployApart);

    assertTrue(
        refused.getMessage().contains("another strategy verticle is at " + PLACE + "worker.0"),
        refused.getMessage());
  }

  private static boolean isScalar(TrainingEvent event, String source, long version, double value) {
    return event instanceof ScalarReported scalar
        && scalar.source().equals(source)
        && scalar.version() == version
        && scalar.value() == value;
  }

  private void train(String description, long steps) {
    String strategy = description.split(" ")[0];
    JsonObject named = new JsonObject().put("name", strategy);
    if (strategy.equals("diloco")) {
      named.put("syncEvery", 20).put("outerLearningRate", 1).put("outerMomentum", 0);
      named.put("servers", description.endsWith("servers"));
    }
    if (strategy.equals("sync")) {
      named.put("reduction", "mean").put("quorum", description.endsWith("quorum") ? 1 : 0);
    }
    job.put("steps", steps).put("strategy", named);
    job.getJsonObject("workers").put("count", 2);
  }

  private void trainPaced(String strategy, long steps) {
    train(strategy, steps);
    pace(5);
    job.put(
        "checkpoint", new JsonObject().put("every", 10).put("directory", checkpoints.toString()));
  }

  private void awaitVersion(long version) {
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.version() > version));
  }

  private boolean hasServers() {
    JsonObject strategy = job.getJsonObject("strategy");
    return Set.of("sync", "async", "ssp", BrokenServerProvider.class.getName())
            .contains(strategy.getString("name"))
        || strategy.getBoolean("servers", false);
  }

  private String deployApart() {
    if (vertx.deploymentIDs().isEmpty()) {
      deploy(coordinator);
    }
    return deploy(new Apart());
  }

  private void deployMembers() {
    if (hasServers()) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(2);
  }

  /** Updates of async and ssp are each applied, but not all in the same order. */
  private void assertFinishedAfter(int steps) {
    JsonObject result = await(coordinator.result());
    assertEquals("finished", result.getString("state"), result::encode);
    if (Set.of("async", "ssp").contains(job.getJsonObject("strategy").getString("name"))) {
      assertEquals(2 * steps, result.getLong("version"), result::encode);
    } else {
      assertEquals(coordinateAfter(steps), lossOf(result), 1e-4);
    }
  }

  /** The service of a strategy verticle of another JVM, without a registration in this one. */
  private final class Apart extends VerticleBase {

    private StrategyService service;

    @Override
    public Future<?> start() {
      FrameCodecs.register(vertx.eventBus());
      JobConfig config = JobConfig.read("test", config());
      String role = hasServers() ? "server" : "worker";
      JsonObject beside = new JsonObject().put("role", role).put("rank", 0);
      StrategyHost host = new StrategyHost(vertx, context, config, beside);
      Function<MovedMember, Deployable> member = StrategyVerticle.member(host);
      return StrategyService.open(
              vertx,
              config,
              host,
              session -> {
                moves.incrementAndGet();
                return member.apply(session);
              })
          .onSuccess(open -> service = open);
    }

    @Override
    public Future<?> stop() {
      return service.close();
    }
  }
}
