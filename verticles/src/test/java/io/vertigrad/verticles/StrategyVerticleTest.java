package io.vertigrad.verticles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import io.vertigrad.testkit.PointsJob;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests strategies that are deployed by class name, as the stock launcher does, beside the members
 * of a job.
 */
class StrategyVerticleTest extends PointsJob {

  private static final String NAME = "io.vertigrad.verticles.StrategyVerticle";

  @Test
  void shouldTrainWhenItWasDeployedByNameBesideEachWorker() {
    train("allreduce", 200);
    String first = deployBeside("worker", 0);
    String second = deployBeside("worker", 1);
    deployEvaluatorAndWorkers(2);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
    Set<String> deployed = vertx.deploymentIDs();
    assertTrue(deployed.containsAll(Set.of(first, second)));
    assertEquals(6, deployed.size(), "a coordinator, an evaluator, two workers, two strategies");
  }

  @ParameterizedTest
  @CsvSource({"true", "false"})
  void shouldTrainBesideAShardWhenDeployedSeparately(boolean before) {
    train("sync", 200);
    if (before) {
      deployBeside("server", 0);
    }
    String server = deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(2);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
    assertEquals(6, vertx.deploymentIDs().size(), "nobody deployed another strategy");
    await(vertx.undeploy(server));
    assertEquals(before ? 5 : 4, vertx.deploymentIDs().size());
  }

  @Test
  void shouldMakeTheServerLeaveWhenTheStrategyIsUndeployed() {
    train("sync", 1_000_000);
    final String strategy = deployBeside("server", 0);
    deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(2);
    Awaitility.await()
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.version() > 20));

    await(vertx.undeploy(strategy));

    Awaitility.await()
        .until(() -> happened(e -> e instanceof MemberLeft left && left.role() == Role.SERVER));
  }

  @Test
  void shouldBeDeployedByItsWorkerWhenNoneIsThere() {
    train("dpsgd", 200);
    deployEvaluatorAndWorkers(2);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(6, vertx.deploymentIDs().size());
    workers.forEach(worker -> await(vertx.undeploy(worker)));
    assertEquals(2, vertx.deploymentIDs().size(), "they end with their workers");
  }

  @Test
  @Tag("slow")
  void shouldFailItsWorkerNamingItselfWhenItIsUndeployedAlone() {
    train("allreduce", 1_000_000);
    final String first = deployBeside("worker", 0);
    deployEvaluatorAndWorkers(2);
    Awaitility.await()
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.version() > 20));

    await(vertx.undeploy(first));

    String place = "its strategy verticle \"allreduce\" at vertigrad.points.strategy.worker.0";
    awaitFailure(0, place + " was undeployed while its worker trained; undeploy the worker first");
  }

  @ParameterizedTest
  @ValueSource(classes = {BrokenProvider.class, BrokenServerProvider.class})
  @Tag("slow")
  void shouldFailTheJobOnceNamingTheRuleWhenItBreaks(Class<?> provider) {
    boolean beside = provider == BrokenProvider.class;
    train(provider.getName(), 1_000);
    if (!beside) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(1);

    JsonObject result = await(coordinator.result());

    String why =
        "%s: strategy \"%s\" failed at %s: java.lang.%s: this rule is broken, at %s"
            .formatted(
                beside ? "worker 0" : "server 0",
                provider.getName(),
                beside ? "step 0" : "partition 0, version 20",
                beside ? "IllegalStateException" : "AssertionError",
                StrategyVerticleTest.class.getName());
    assertEquals("failed", result.getString("state"));
    assertTrue(result.getString("failure").startsWith(why), result::encode);
    assertTrue(result.getLong("version") <= 20, result::encode);
    Awaitility.await().until(() -> happened(StrategyVerticleTest::failsJob));
    if (!beside) {
      return;
    }
    Awaitility.await("its last scalar")
        .atMost(10, TimeUnit.SECONDS)
        .until(
            () ->
                happened(
                    e ->
                        e instanceof ScalarReported scalar
                            && scalar.source().equals("worker 0")
                            && scalar.name().equals("samples")
                            && scalar.version() == 0));
  }

  @Test
  void shouldRefuseAPlaceWithoutItsStrategy() {
    train("allreduce", 10);

    Exception refused = assertThrows(Exception.class, () -> deployBeside("server", 0));

    String expected =
        "-conf: beside.role is \"server\", expected \"worker\": that is where strategy"
            + " \"allreduce\" stands";
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }

  @Test
  @Tag("slow")
  void shouldRefuseASecondStrategyAtTheSamePlace() {
    train("allreduce", 10);
    deployBeside("worker", 0);

    Exception refused = assertThrows(Exception.class, () -> deployBeside("worker", 0));

    String expected = "another strategy verticle is at vertigrad.points.strategy.worker.0";
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }

  private void train(String strategy, long steps) {
    JsonObject named = new JsonObject().put("name", strategy);
    job.put("steps", steps)
        .put("strategy", strategy.equals("sync") ? named.put("reduction", "mean") : named);
    int count = strategy.contains("Broken") ? 1 : 2;
    job.getJsonObject("workers").put("count", count);
    deploy(coordinator);
  }

  private String deployBeside(String role, int rank) {
    JsonObject beside = new JsonObject().put("role", role).put("rank", rank);
    JsonObject config = job.copy().put("beside", beside);
    return await(vertx.deployVerticle(NAME, new DeploymentOptions().setConfig(config)));
  }

  private void awaitFailure(int rank, String part) {
    Awaitility.await()
        .until(
            () ->
                happened(
                    e ->
                        e instanceof MemberLeft left
                            && left.role() == Role.WORKER
                            && left.rank() == rank
                            && left.reason().contains(part)));
  }

  private static boolean failsJob(TrainingEvent event) {
    return event instanceof MemberLeft left && left.reason().startsWith(MemberLeft.FAILS_JOB);
  }

  /** A strategy whose rule beside a server breaks in its 21st round. */
  public static final class BrokenServerProvider implements StrategyProvider {

    @Override
    public String name() {
      return "broken-server";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      return StrategyFactory.inRounds(
          context ->
              Barrier.keepingAll(
                  name(), Barrier.DEADLINE_MILLIS, context, BrokenServerProvider::reduce));
    }

    private static void reduce(List<GradientPartition> gradients, PartitionStore store) {
      if (store.version() == 20) {
        throw new AssertionError("this rule is broken");
      }
      float[] first = new float[store.length()];
      gradients.get(0).gradient().copyTo(first, 0);
      store.apply(first, 1, gradients.get(0).samples());
    }
  }

  /** A strategy that fails at the first gradient. */
  public static final class BrokenProvider implements StrategyProvider {

    @Override
    public String name() {
      return "broken";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      return StrategyFactory.besideWorkers(
          StrategyTraits.atWorkers(Rounds.EVERY_RANK), BrokenRule::new);
    }
  }

  private record BrokenRule(PeerContext context) implements PeerStrategy {

    @Override
    public void open(PeerGroup group, boolean fresh) {}

    @Override
    public void begin() {}

    @Override
    public void complete(LocalGradient gradient) {
      context.replica().report("samples", gradient.samples());
      throw new IllegalStateException("this rule is broken");
    }

    @Override
    public ExchangeTiming timing() {
      return ExchangeTiming.NONE;
    }

    @Override
    public double spectralGap() {
      return 1;
    }
  }
}
