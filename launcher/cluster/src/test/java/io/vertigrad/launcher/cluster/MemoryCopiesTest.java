package io.vertigrad.launcher.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The folder of a lost worker's replacement has no checkpoint, as on another machine. */
@Tag("slow")
final class MemoryCopiesTest extends PointsJob {

  private static final int WORKERS = 3;

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
    job.put("steps", 600)
        .put("data", new JsonObject().put("name", Scattered.class.getName()))
        .put("strategy", strategy(strategy))
        .put("checkpoint", new JsonObject().put("every", 20).put("directory", path("before")));
    job.getJsonObject("optimizer").put("learningRate", 1e-4).put("momentum", 0.9);
    job.getJsonObject("exchange")
        .put("compression", compression)
        .put("suspectMillis", 5_000)
        .put("evictMillis", 20_000);
    job.getJsonObject("workers").put("count", WORKERS).put("waitSeconds", 30);
    job.put("run", new JsonObject().put("id", "before"));
    Run before = new Run();
    String undisturbed = before.hash();
    events.clear();
    job.put("run", new JsonObject().put("id", "here"));
    job.getJsonObject("checkpoint").put("directory", path("here"));
    pace(3);

    Run run = new Run();
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

    Run() {
      deploy(new EvaluatorVerticle());
      for (int i = 0; i < WORKERS; i++) {
        workers.add(deploy(new WorkerVerticle()));
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
