package io.vertigrad.verticles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyService;
import io.vertigrad.internal.host.StrategyService.RemoteMember;
import io.vertigrad.internal.server.RemoteShard;
import io.vertigrad.internal.worker.RemoteWorker;
import io.vertigrad.job.JobConfig;
import io.vertigrad.testkit.PointsJob;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests strategies that a member does not find in its own JVM: it uses a service for members of
 * other JVMs, here in the same Vert.x, so that all frames go over its event bus.
 */
class RemoteStrategyTest extends PointsJob {

  private static final String PLACE = "vertigrad.points.strategy.";

  private final AtomicLong frames = new AtomicLong();

  @ParameterizedTest
  @CsvSource({"sync", "dpsgd", "allreduce", "local", "diloco"})
  void shouldEndWithTheSameParametersAsBesideItsMember(String strategy) {
    train(strategy, 200);
    deployApart();
    deployMembers();

    assertFinishedAfter(200);
    assertTrue(frames.get() >= 200, "it took part: " + frames);
  }

  @ParameterizedTest
  @CsvSource({"sync", "dpsgd", "allreduce"})
  @Tag("slow")
  void shouldEndWithTheSameParametersWhenItIsReplaced(String strategy) {
    train(strategy, 600);
    pace(5);
    String first = deployApart();
    deployMembers();
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.version() > 20));

    await(vertx.undeploy(first));
    final long before = frames.get();
    deployApart();
    release();

    assertFinishedAfter(600);
    assertTrue(frames.get() > before, "the second one took part");
  }

  @ParameterizedTest
  @CsvSource({"sync", "dpsgd"})
  @Tag("slow")
  void shouldFailAWorkerNamingTheStrategyThatDoesNotComeBack(String strategy) {
    train(strategy, 1_000_000);
    pace(5);
    job.getJsonObject("exchange").put("deadlineMillis", 3_000);
    if (strategy.equals("sync")) {
      job.getJsonObject("strategy").put("deadlineMillis", 2_900);
    }
    String first = deployApart();
    deployMembers();
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.version() > 20));

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
  @CsvSource({"async,'steps with each gradient'", "sync,has a quorum"})
  void shouldRefuseAServerWhoseRoundsDoNotHaveEveryGradient(String strategy, String why) {
    train(strategy, 10);
    if (strategy.equals("sync")) {
      job.getJsonObject("strategy").put("quorum", 1);
    }
    deployApart();

    Exception refused = assertThrows(Exception.class, () -> deploy(new ParameterServerVerticle()));

    assertTrue(
        refused.getMessage().contains("strategy \"%s\" %s, expected".formatted(strategy, why)),
        refused.getMessage());
  }

  @Test
  void shouldRefuseASecondOneAtTheSamePlace() {
    train("dpsgd", 10);
    deployApart();

    Exception refused = assertThrows(Exception.class, this::deployApart);

    assertTrue(
        refused.getMessage().contains("another strategy verticle is at " + PLACE + "worker.0"),
        refused.getMessage());
  }

  private void train(String strategy, long steps) {
    JsonObject named = new JsonObject().put("name", strategy);
    if (strategy.equals("diloco")) {
      named.put("syncEvery", 20).put("outerLearningRate", 1).put("outerMomentum", 0);
    }
    job.put("steps", steps)
        .put("strategy", strategy.equals("sync") ? named.put("reduction", "mean") : named);
    job.getJsonObject("workers").put("count", 2);
  }

  private boolean hasServers() {
    String strategy = job.getJsonObject("strategy").getString("name");
    return strategy.equals("sync") || strategy.equals("async");
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

  private void assertFinishedAfter(int steps) {
    JsonObject result = await(coordinator.result());
    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(coordinateAfter(steps), lossOf(result), 1e-4);
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
      RemoteMember member =
          host.strategy().traits().besideServers()
              ? new RemoteShard(vertx, config, host.strategy())
              : new RemoteWorker(vertx, config, host);
      return StrategyService.open(vertx, config, host, new Counted(member))
          .onSuccess(open -> service = open);
    }

    @Override
    public Future<?> stop() {
      return service.close();
    }
  }

  private final class Counted implements RemoteMember {

    private final RemoteMember member;

    Counted(RemoteMember member) {
      this.member = member;
    }

    @Override
    public Future<Void> open(JsonObject request) {
      return member.open(request);
    }

    @Override
    public Future<JsonObject> call(String name, JsonObject request) {
      return member.call(name, request);
    }

    @Override
    public Future<Frame> handle(Frame frame) {
      frames.incrementAndGet();
      return member.handle(frame);
    }

    @Override
    public Future<?> close(String why) {
      return member.close(why);
    }
  }
}
