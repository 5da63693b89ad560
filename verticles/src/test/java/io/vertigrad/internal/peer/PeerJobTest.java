package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole jobs without servers in one JVM: coordinator, workers and evaluator on a local bus. */
class PeerJobTest extends PointsJob {

  @ParameterizedTest
  @CsvSource({
    "allreduce, 1",
    "allreduce, 2",
    "allreduce, 3",
    "dpsgd, 1",
    "dpsgd, 2",
    "dpsgd, 4",
    "local, 3"
  })
  @Tag("slow")
  void shouldReachTheClosedFormWithoutAServer(String strategy, int count) {
    train(strategy, count, 200);

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(200, result.getLong("version"));
    assertEquals(count * samplesAfter(200, count), result.getLong("samples"));
    assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
    ReplicasAveraged averaged = lastOfTheEnd();
    assertEquals(count, averaged.workers());
    assertEquals(0, averaged.consensusDistance(), 1e-6);
    assertTrue(
        happened(e -> e instanceof ReplicasAveraged own && own.localAccuracy() == 100),
        "every sample of the points has the label 1");
    assertTrue(happened(e -> e instanceof Evaluated tested && !tested.wholeTestSet()));
  }

  @ParameterizedTest
  @CsvSource({"dpsgd, 2", "dpsgd, 3", "allreduce, 2", "local, 2", "gossip, 2"})
  @Tag("slow")
  void shouldTestTheMeanOfEveryDueVersionBeforeWorkersContinue(String strategy, int count) {
    job.put("evaluator", new JsonObject().put("everyEpochs", 1).put("blocking", true));
    train(strategy, count, count == 3 ? 60 : 80);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    // A share of 64 samples has batches of 4; with three workers, the last batch is smaller.
    long epoch = count == 3 ? 6 : 8;
    List<Long> due = LongStream.rangeClosed(1, 10).mapToObj(n -> n * epoch).toList();
    // At the last version the whole test set may come first; the job is then over before this test.
    Awaitility.await()
        .atMost(5, TimeUnit.SECONDS)
        .untilAsserted(() -> assertEquals(due, dueTests().map(Evaluated::version).toList()));
    if (!strategy.equals("gossip")) {
      dueTests()
          .forEach(test -> assertEquals(coordinateAfter((int) test.version()), test.loss(), 1e-4));
    }
  }

  private Stream<Evaluated> dueTests() {
    return events.stream()
        .filter(Evaluated.class::isInstance)
        .map(Evaluated.class::cast)
        .filter(test -> test.version() > 0 && !test.wholeTestSet());
  }

  @Test
  @Tag("slow")
  void shouldConvergeWhenPairsMeetAtRandom() {
    train("gossip", 3, 1_000);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    // A worker that is done early still averages with those behind, which keeps their mean.
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 0.1 * PointsProvider.COORDINATE);
    assertEquals(3, lastOfTheEnd().workers());
  }

  @Test
  void shouldReportTheCostOfTheExchange() {
    train("dpsgd", 2, 300);

    ended();
    await(coordinator.stop("the test is over"));

    PeerExchange exchange = last(PeerExchange.class);
    assertEquals(2 / 3.0, exchange.spectralGap(), 1e-9);
    assertTrue(exchange.secondsExchanging() > 0, exchange.toString());
    // Three coordinates of four bytes, to one neighbour each step.
    WorkerProgress sent = last(WorkerProgress.class);
    assertTrue(sent.bytesSent() >= 300 * 12);
    assertEquals(Map.of(1 - sent.rank(), sent.bytesSent()), sent.sentTo());
  }

  @ParameterizedTest
  @ValueSource(strings = {"allreduce", "dpsgd", "local"})
  @Tag("slow")
  void shouldContinueWhenAWorkerLeavesAndAnotherJoins(String strategy) {
    long steps = 1_200;
    pace(5);
    train(strategy, 3, steps);
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> stepsOf(1) > 10);

    await(vertx.undeploy(workers.get(1)));
    deploy(new WorkerVerticle());
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> happened(e -> e instanceof MemberJoined j && j.incarnation() == 1));
    release();
    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(steps, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
    assertEquals(3, last(ReplicasAveraged.class).workers());
  }

  private void train(String strategy, int count, long steps) {
    job.put("steps", steps)
        .put("strategy", new JsonObject().put("name", strategy))
        .put(
            "workers", new JsonObject().put("batch", 4).put("waitSeconds", 10).put("count", count));
    deploy(coordinator);
    deployEvaluatorAndWorkers(count);
  }

  /** Returns a worker's samples: its share of 64 samples has batches of 4, the last one smaller. */
  private static long samplesAfter(int steps, int workers) {
    int share = (64 + workers - 1) / workers;
    int batches = (share + 3) / 4;
    return steps / batches * share + steps % batches * 4L;
  }

  private long stepsOf(int rank) {
    return events.stream()
        .filter(e -> e instanceof WorkerProgress w && w.rank() == rank)
        .mapToLong(e -> ((WorkerProgress) e).step())
        .max()
        .orElse(0);
  }

  /** Returns the final mean, the only one with the workers' own accuracy. It may arrive late. */
  private ReplicasAveraged lastOfTheEnd() {
    Awaitility.await()
        .until(
            () ->
                happened(e -> e instanceof ReplicasAveraged a && !Double.isNaN(a.localAccuracy())));
    return last(ReplicasAveraged.class);
  }
}
