package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataPartition;
import io.vertigrad.compute.data.DataPartition.Kind;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.DistributedSampler;
import io.vertigrad.compute.data.ShuffledSampler;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.run.UpdateLedger;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares whole jobs of three workers with the rules in double precision, on the loss {@code 1/2
 * |w - x|^2}.
 */
class FederatedJobTest extends PointsJob {

  private static final int WORKERS = 3;
  private static final int BATCH = 4;
  private static final int BATCHES = UnlikePoints.SIZE / WORKERS / BATCH;
  private static final int ROUNDS = 4;
  private static final long SEED = 5;
  private static final double RATE = 0.1;

  @TempDir private Path folder;
  private int expelAfter;

  @BeforeEach
  void prepare() {
    job.put("seed", SEED);
    job.getJsonObject("data").put("name", "unlike");
    job.getJsonObject("optimizer").put("learningRate", RATE);
    job.getJsonObject("workers").put("count", WORKERS).put("batch", BATCH);
  }

  @ParameterizedTest
  @CsvSource({
    "fedavg, 3, 0, 1",
    "fedavg, 3, 0, 0.7",
    "fedavg, 0, 2, 1",
    "fedprox, 3, 0, 1",
    "scaffold, 3, 0, 1",
    "scaffold, 3, 0, 0.7",
    "fednova, 0, 1, 1",
    "fedadam, 3, 0, 1",
    "fedyogi, 3, 0, 1"
  })
  void shouldEqualTheFormulaWhenThreeWorkersTakeFourRounds(
      String rule, int steps, int epochs, double share) {
    requireFormula(rule, steps, epochs, share, "mean");
  }

  @ParameterizedTest
  @CsvSource({
    "fedavg, 0, 2, 1, median",
    "fedprox, 3, 0, 1, median",
    "fedadam, 3, 0, 1, median",
    "fedyogi, 3, 0, 0.7, median",
    "fedadam, 3, 0, 1, centredClipping",
    "fedavg, 3, 0, 0.7, centredClipping"
  })
  void shouldStepWithTheRobustAggregateWhenThereIsAReduction(
      String rule, int steps, int epochs, double share, String reduction) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    requireFormula(rule, steps, epochs, share, reduction);
  }

  private void requireFormula(String rule, int steps, int epochs, double share, String reduction) {
    int every = epochs == 0 ? steps : epochs * BATCHES;
    JsonObject strategy = strategy(rule).put("participation", share);
    strategy.put(epochs == 0 ? "localSteps" : "localEpochs", epochs == 0 ? steps : epochs);
    if (rule.equals("fedprox")) {
      strategy.put("mu", 0.5);
    }
    if (!reduction.equals("mean")) {
      strategy.put("reduction", reduction).put("liars", 0);
    }
    if (reduction.equals("centredClipping")) {
      // Nothing is clipped, so that the aggregate is the mean.
      strategy.put("clipRadius", 1e6);
    }
    job.put("steps", epochs == 0 ? ROUNDS * steps : ROUNDS);

    JsonObject result = run(coordinator);

    assertEquals(ROUNDS, result.getLong("version"), result.encode());
    assertEquals(
        new Port(rule, every, share, reduction).parameter(), lossOf(result), 2e-6, result.encode());
  }

  @Test
  void shouldPassOverItsOwnSamplesWhenWorkersHavePartsOfUnlikeSize() {
    job.put("steps", ROUNDS);
    job.getJsonObject("workers").put("partition", JsonObject.of("kind", "quantity", "alpha", 1.0));
    strategy("fedavg").put("localEpochs", 1);

    JsonObject result = run(coordinator);

    Dataset all = new UnlikePoints().open(null, Split.TRAIN);
    List<int[]> parts = new DataPartition(Kind.QUANTITY, 1, 1).divide(all, WORKERS, SEED);
    assertTrue(parts.stream().map(part -> part.length).distinct().count() > 1, "sizes");
    double x = 0;
    for (int round = 0; round < ROUNDS; round++) {
      double moved = 0;
      for (int rank = 0; rank < WORKERS; rank++) {
        int[] part = parts.get(rank);
        int[] order = new ShuffledSampler(part.length, rank, SEED).epoch(round);
        double y = x;
        for (int first = 0; first < order.length; first += BATCH) {
          double mean =
              Arrays.stream(order, first, Math.min(order.length, first + BATCH))
                  .mapToDouble(i -> UnlikePoints.coordinate(part[i], 0))
                  .average()
                  .orElseThrow();
          y -= RATE * (y - mean);
        }
        // The mean of the movements is weighted by samples.
        moved += (x - y) * part.length / UnlikePoints.SIZE;
      }
      x -= moved;
    }
    assertEquals(x, lossOf(result), 2e-6, result.encode());
    assertEquals(ROUNDS * UnlikePoints.SIZE, result.getLong("samples"), result.encode());
  }

  @Test
  void shouldEqualDiLoCoBitForBitWhenItIsFedAvg() {
    job.put("steps", 20);
    strategy("fedavg").put("localSteps", 5).put("serverLearningRate", 1);
    double federated = lossOf(run(coordinator));
    job.put("job", "other")
        .put(
            "strategy",
            new JsonObject()
                .put("name", "diloco")
                .put("servers", true)
                .put("syncEvery", 5)
                .put("outerLearningRate", 1)
                .put("outerMomentum", 0));

    double diloco = lossOf(run(new CoordinatorVerticle()));

    assertEquals(diloco, federated);
  }

  @Test
  void shouldEndWithTheSameBitsWhenAScaffoldWorkerIsReplaced() {
    int rounds = 40;
    job.put("steps", rounds * 2)
        .put("checkpoint", new JsonObject().put("every", 4).put("directory", folder.toString()));
    strategy("scaffold").put("localSteps", 2);
    job.put("job", "undisturbed").put("run", new JsonObject().put("id", "one"));
    job.getJsonObject("checkpoint").put("directory", folder.resolve("one").toString());
    double undisturbed = lossOf(run(new CoordinatorVerticle()));
    job.put("job", "points").put("run", new JsonObject().put("id", "two"));
    job.getJsonObject("checkpoint").put("directory", folder.resolve("two").toString());
    pace(2);
    Promise<Void> begun = once(e -> e instanceof ServerProgress server && server.version() >= 5);
    Promise<Void> replaced = once(e -> e instanceof MemberJoined join && join.incarnation() == 1);

    deploy(coordinator);
    deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(WORKERS);
    await(begun.future());
    await(vertx.undeploy(workers.get(1)));
    deploy(new WorkerVerticle());
    await(replaced.future());
    release();
    JsonObject result = ended();

    assertEquals(rounds, result.getLong("version"), result.encode());
    assertEquals(undisturbed, lossOf(result), "bits");
  }

  @Test
  void shouldCountEveryUpdateOnceWhenWorkersDoNotWait() {
    job.put("steps", 60);
    strategy("fedbuff").put("localSteps", 3).put("buffer", 4);
    UpdateLedger ledger = new UpdateLedger();

    JsonObject result = run(coordinator);
    ended();
    events.forEach(ledger::apply);

    assertEquals(60 / 3 * WORKERS / 4, result.getLong("version"), result.encode());
    assertTrue(ledger.isKnown());
    assertEquals(List.of(), ledger.problems());
    assertEquals(0, ledger.toJson().getLong("lost"));
  }

  @ParameterizedTest
  @CsvSource({
    "fedavg, median",
    "fedavg, geometricMedian",
    "fedavg, krum",
    "fedprox, centredClipping",
    "fedyogi, trimmedMean"
  })
  void shouldEndNearTheRunWithoutLiarWhenOneOfFiveFlipsTheSign(String rule, String reduction) {
    double honest = lossOf(amongFive("federated", rule, "mean"));
    double robust = lossOf(amongFive("lying", rule, reduction));
    double mean = lossOf(amongFive("lying", rule, "mean"));

    assertEquals(honest, robust, 0.3);
    assertTrue(Math.abs(mean - honest) > 1, "the mean ends at %s".formatted(mean));
  }

  @ParameterizedTest
  @CsvSource({"centredClipping, 0", "median, 0", "multiKrum, 0", "geometricMedian, 2", "median, 2"})
  void shouldLeaveOutUpdatesWhenTheyHaveNaN(String reduction, int expel) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    expelAfter = expel;
    double honest = lossOf(amongFive("federated", "fedavg", "mean"));

    JsonObject result = amongFive("spoilt", "fedavg", reduction);
    ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(honest, lossOf(result), 0.3);
    assertFalse(happened(e -> e instanceof UpdatesCounted sum && sum.refused() > 0), "refused");
    assertTrue(happened(e -> isScalar(e, "update.notFinite")), "named");
    assertEquals(expel > 0, happened(e -> isScalar(e, "update.expelled")));
  }

  private static boolean isScalar(TrainingEvent event, String name) {
    return event instanceof ScalarReported scalar
        && scalar.source().equals("worker " + LyingWorker.LIAR)
        && scalar.name().equals(name);
  }

  private JsonObject amongFive(String strategy, String rule, String reduction) {
    int rounds = 20;
    // Only the events of the job "points" are kept, and only its end is waited for.
    boolean watched = strategy.equals("spoilt");
    String name = watched ? "points" : strategy + "-" + reduction;
    job.put("job", name).put("steps", rounds * 3);
    job.getJsonObject("workers").put("count", 5);
    JsonObject section = strategy(rule).put("name", strategy).put("localSteps", 3);
    if (!reduction.equals("mean")) {
      section.put("reduction", reduction);
      if (expelAfter > 0) {
        section.put("expel", expelAfter);
      }
    }
    if (rule.equals("fedyogi")) {
      section.put("serverLearningRate", 0.1);
    }
    return run(watched ? coordinator : new CoordinatorVerticle(), 5);
  }

  @Test
  void shouldReportThePrivacyThatEachWorkerHasLostWhenUpdatesHaveNoise() {
    job.put("steps", ROUNDS * 3);
    strategy("fedavg").put("localSteps", 3).put("clip", 0.5).put("noise", 2);

    JsonObject result = run(coordinator);
    ended();

    assertEquals(ROUNDS, result.getLong("version"), result.encode());
    double expected = new PrivacyAccountant(2, 1).epsilon(ROUNDS, 1e-5);
    for (int rank = 0; rank < WORKERS; rank++) {
      String source = "worker " + rank;
      assertTrue(
          happened(
              e ->
                  e instanceof ScalarReported scalar
                      && scalar.source().equals(source)
                      && scalar.name().equals("privacy.epsilon")
                      && Math.abs(scalar.value() - expected) < 1e-9),
          source);
    }
  }

  private JsonObject strategy(String rule) {
    JsonObject strategy = new JsonObject().put("name", "federated").put("rule", rule);
    job.put("strategy", strategy);
    return strategy;
  }

  private JsonObject run(CoordinatorVerticle with) {
    return run(with, WORKERS);
  }

  private JsonObject run(CoordinatorVerticle with, int count) {
    deploy(with);
    deploy(new ParameterServerVerticle());
    deploy(new EvaluatorVerticle());
    IntStream.range(0, count).forEach(i -> deploy(new WorkerVerticle()));
    return await(with.result());
  }

  private Promise<Void> once(Predicate<TrainingEvent> event) {
    Promise<Void> happened = Promise.promise();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.points.events",
            message -> {
              if (event.test(TrainingEvent.fromJson(message.body()))) {
                happened.tryComplete();
              }
            });
    return happened;
  }

  /** The first parameter of the model under a rule, step by step in double precision. */
  private record Port(String rule, int every, double share, String reduction) {

    double parameter() {
      Participation participation = new Participation(share, SEED);
      double x = 0;
      double m = 0;
      double v = 1e-6;
      double c = 0;
      double[] own = new double[WORKERS];
      for (int round = 0; round < ROUNDS; round++) {
        List<Double> moved = new ArrayList<>();
        double change = 0;
        for (int rank = 0; rank < WORKERS; rank++) {
          if (!participation.chosen(round, WORKERS).get(rank)) {
            continue;
          }
          double y = x;
          for (int step = 0; step < every; step++) {
            double g = y - mean(rank, round * every + step);
            g += rule.equals("fedprox") ? 0.5 * (y - x) : 0;
            g += rule.equals("scaffold") ? c - own[rank] : 0;
            y -= RATE * g;
          }
          double next = own[rank] - c + (x - y) / (every * RATE);
          change += next - own[rank];
          own[rank] = next;
          moved.add(x - y);
        }
        double mean = aggregate(moved);
        c += change / WORKERS;
        m = 0.9 * m + 0.1 * mean;
        double square = mean * mean;
        v =
            rule.equals("fedadam")
                ? 0.99 * v + 0.01 * square
                : v - 0.01 * square * Math.signum(v - square);
        boolean adapts = rule.equals("fedadam") || rule.equals("fedyogi");
        x -= adapts ? 0.01 * m / (Math.sqrt(v) + 1e-3) : mean;
      }
      return x;
    }

    private double aggregate(List<Double> moved) {
      double[] sorted = moved.stream().mapToDouble(each -> each).sorted().toArray();
      int size = sorted.length;
      return reduction.equals("median")
          ? (sorted[(size - 1) / 2] + sorted[size / 2]) / 2
          : Arrays.stream(sorted).average().orElseThrow();
    }

    private static double mean(int rank, int batch) {
      int[] samples =
          new DistributedSampler(UnlikePoints.SIZE, WORKERS, rank, SEED).epoch(batch / BATCHES);
      return IntStream.range(0, BATCH)
          .mapToDouble(i -> UnlikePoints.coordinate(samples[batch % BATCHES * BATCH + i], 0))
          .average()
          .orElseThrow();
    }
  }
}
