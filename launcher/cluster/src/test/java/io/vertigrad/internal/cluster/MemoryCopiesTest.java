package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.worker.StateCopies;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** The folder of a lost worker's replacement has no checkpoint, as on another machine. */
@Tag("slow")
final class MemoryCopiesTest extends PointsJob {

  private static final int WORKERS = 3;
  private static final String WAITS = "waits for a place with the states of 3 of 3 workers";

  @TempDir Path folder;

  /** The first rank's states are with the second one, the last rank's with the first one. */
  @ParameterizedTest
  @CsvSource({
    "allreduce, topk, 0",
    "diloco, none, 2",
    "diloco, int8, 0",
    "local, none, 2",
    "dpsgd, int8, 2"
  })
  void shouldTakeALostRanksStateFromTheMemoryOfTheNextRank(
      String strategy, String compression, int lost) {
    withoutServers(strategy, compression);
    job.getJsonObject("checkpoint").put("directory", path("before"));
    job.put("run", new JsonObject().put("id", "before"));
    Run before = new Run(false);
    String undisturbed = before.hash();
    events.clear();
    job.put("run", new JsonObject().put("id", "here"));
    job.getJsonObject("checkpoint").put("directory", path("here"));
    pace(3);

    Run run = new Run(false);
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> exchanges().anyMatch(event -> event.version() >= 150));
    job.getJsonObject("checkpoint").put("directory", path("elsewhere"));
    await(vertx.undeploy(run.workers.get(lost)));
    deploy(new WorkerVerticle());
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> ofReplacement().count() > 0);
    long first = ofReplacement().findFirst().orElseThrow().version();
    release();

    assertTrue(first >= 100, () -> "it went on at " + first);
    assertEquals(undisturbed, run.hash());
  }

  private void withoutServers(String strategy, String compression) {
    job.put("steps", 600)
        .put("data", new JsonObject().put("name", Scattered.class.getName()))
        .put("strategy", strategy(strategy))
        .put("checkpoint", new JsonObject().put("every", 20));
    job.getJsonObject("optimizer").put("learningRate", 1e-4).put("momentum", 0.9);
    job.getJsonObject("exchange")
        .put("compression", compression)
        .put("suspectMillis", 5_000)
        .put("evictMillis", 20_000);
    job.getJsonObject("workers").put("count", WORKERS).put("waitSeconds", 60);
  }

  /** What a worker's rounds start with is only in its process and in copies: nothing is saved. */
  @ParameterizedTest
  @CsvSource({"none, 2", "int8, 0"})
  void shouldTakeTheInnerOptimizerOfALostRankFromTheNextRank(String compression, int lost) {
    withServers(compression);
    job.put("steps", 1_200);
    String undisturbed = new Run(false).hash();
    events.clear();
    pace(3);

    Run run = new Run(false);
    awaitVersion(5);
    await(vertx.undeploy(run.workers.get(lost)));
    deploy(new WorkerVerticle());
    awaitTaken(one -> one.rank() == lost && one.holder() == (lost + 1) % WORKERS);
    release();

    assertEquals(undisturbed, run.hash());
    assertFalse(Files.exists(folder.resolve("none")), "no checkpoint");
  }

  /**
   * Nobody else has the states of the first rank: its next rank is lost as well. Each worker has a
   * folder of its own, as on a machine of its own.
   */
  @ParameterizedTest
  @CsvSource({
    "diloco-servers, none, 1, 2",
    "diloco-servers, int8, 2, 0",
    "diloco, none, 1, 2",
    "allreduce, topk, 2, 0",
    "dpsgd, int8, 0, 1"
  })
  void shouldTakeTwoNeighbouringRanksWithAWorkerThatWaited(
      String strategy, String compression, int lost, int next) {
    boolean servers = strategy.equals("diloco-servers");
    if (servers) {
      withServers(compression);
    } else {
      withoutServers(strategy, compression);
      job.getJsonObject("checkpoint").put("directory", path("before"));
    }
    job.put("steps", 1_200);
    String undisturbed = new Run(false).hash();
    events.clear();
    job.getJsonObject("checkpoint").put("directory", path("here"));
    pace(3);

    Run run = new Run(true);
    awaitVersion(servers ? 2 : 40);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Logger logger = (Logger) LoggerFactory.getLogger(StateCopies.class);
    logger.setLevel(Level.INFO);
    logger.addAppender(log);
    try {
      Future<String> spare = start("spare");
      Awaitility.await()
          .atMost(60, TimeUnit.SECONDS)
          .until(
              () ->
                  List.copyOf(log.list).stream()
                      .map(ILoggingEvent::getFormattedMessage)
                      .anyMatch(text -> text.startsWith(WAITS)));
      assertFalse(spare.isComplete(), "it waits for a place");
      awaitVersion(last(WorkerProgress.class).version() + (servers ? 3 : 60));
      await(
          Future.all(vertx.undeploy(run.workers.get(lost)), vertx.undeploy(run.workers.get(next))));
      await(spare);
      await(start("last"));
      awaitTaken(one -> one.holder() == one.rank());
      awaitTaken(one -> one.rank() == lost);
      awaitTaken(one -> one.rank() == next);
      release();

      assertEquals(undisturbed, run.hash());
    } finally {
      logger.detachAppender(log);
    }
  }

  private void withServers(String compression) {
    withoutServers("diloco", compression);
    job.remove("checkpoint");
    job.put("checkpoint", new JsonObject().put("seconds", 0).put("directory", path("none")));
    job.getJsonObject("strategy").put("servers", true);
    job.getJsonObject("strategy").remove("fragments");
    job.getJsonObject("strategy").remove("fragmentSyncDelay");
  }

  private void awaitVersion(long version) {
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(
            () ->
                happened(event -> event instanceof WorkerProgress one && one.version() >= version));
  }

  /** Waits until a rank goes on from memory. */
  private void awaitTaken(Predicate<StateTaken> which) {
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> happened(event -> event instanceof StateTaken one && which.test(one)));
  }

  /** Starts a worker that has a folder of its own. */
  private Future<String> start(String name) {
    JsonObject own = job.copy();
    own.getJsonObject("checkpoint").put("directory", path(name));
    return vertx.deployVerticle(new WorkerVerticle(), new DeploymentOptions().setConfig(own));
  }

  private static JsonObject strategy(String name) {
    JsonObject strategy = new JsonObject().put("name", name);
    return name.equals("diloco")
        ? strategy.put("syncEvery", 20).put("fragments", 2).put("fragmentSyncDelay", 7)
        : strategy;
  }

  private String path(String name) {
    return folder.resolve(name).toString();
  }

  private Stream<PeerExchange> exchanges() {
    return events.stream().filter(PeerExchange.class::isInstance).map(PeerExchange.class::cast);
  }

  private Stream<PeerExchange> ofReplacement() {
    return exchanges().filter(event -> event.incarnation() == 1 && event.version() > 0);
  }

  /** The members of one run. */
  private final class Run {

    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String id = deploy(coordinator);
    private final List<String> workers = new ArrayList<>();

    /**
     * Starts a run.
     *
     * @param apart whether each worker has a folder of its own
     */
    Run(boolean apart) {
      deploy(new EvaluatorVerticle());
      if (job.getJsonObject("strategy").getBoolean("servers", false)) {
        deploy(new ParameterServerVerticle());
      }
      for (int i = 0; i < WORKERS; i++) {
        workers.add(apart ? await(start("worker-" + i)) : deploy(new WorkerVerticle()));
      }
    }

    String hash() {
      JsonObject result = await(coordinator.result());
      await(coordinator.stop("the run is over"));
      await(vertx.undeploy(id));
      assertEquals("finished", result.getString("state"), result::encode);
      return result.getJsonObject("evaluation").getString("parametersHash");
    }
  }

  /** 70 different points. */
  public static final class Scattered implements DatasetProvider {

    private static final int FEATURES = 40;

    @Override
    public String name() {
      return "scattered";
    }

    @Override
    public Dataset open(DataConfig config, Split split) {
      return new Dataset() {
        @Override
        public int size() {
          return 70;
        }

        @Override
        public List<Integer> shape() {
          return List.of(FEATURES);
        }

        @Override
        public int classes() {
          return 2;
        }

        @Override
        public void read(int index, float[] features, int offset) {
          SplitMix64 random = new SplitMix64(index);
          for (int i = 0; i < FEATURES; i++) {
            features[offset + i] = (float) random.uniform();
          }
        }

        @Override
        public int label(int index) {
          return 1;
        }
      };
    }
  }
}
