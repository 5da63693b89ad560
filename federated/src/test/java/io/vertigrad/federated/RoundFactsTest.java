package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what is known of a round's updates, over two partitions of two shards. */
class RoundFactsTest {

  private static final float[][] UPDATES = {
    {3, 0, 0, 4}, {3, 0.5f, 0, 4}, {2.5f, 0, 0.5f, 4}, {3, 0, 0, 3.5f}, {-30, 0, 0, -40}
  };

  private final List<RoundFacts> facts = new ArrayList<>();

  @ParameterizedTest
  @ValueSource(strings = {"krum", "centredClipping", "median"})
  void shouldMeasureTheWholeVectorWhenPartitionsDivideIt(String reduction) {
    JsonObject section = new JsonObject().put("reduction", reduction);
    ReductionConfig config =
        ReductionConfig.read(Settings.of("test.json", section), ReductionConfig.Kind.KRUM);
    TestJob job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 4, 0, 3, 5, 2, 2);
    List<TestShard> shards = List.of(shard(job, 0, config), shard(job, 1, config));

    for (int worker = 0; worker < 5; worker++) {
      for (int part = 0; part < 2; part++) {
        float[] piece = Arrays.copyOfRange(UPDATES[worker], 2 * part, 2 * part + 2);
        shards.get(part).handle(job.gradient(worker, 0, part, 0, piece));
      }
    }

    assertEquals(1, facts.size(), "once, in the first partition");
    double[] aggregate = new double[4];
    for (int i = 0; i < 4; i++) {
      float now = job.parameters(shards.get(i / 2), i / 2)[i % 2];
      aggregate[i] = (job.initial()[i] - now) / (double) TestJob.LEARNING_RATE;
    }
    RoundFacts round = facts.get(0);
    assertEquals(0, round.version());
    assertEquals(norm(aggregate, new double[4]), round.norm(), 1e-5);
    for (int worker = 0; worker < 5; worker++) {
      RoundFacts.Update update = round.workers().get(worker);
      double[] sent = new double[4];
      double product = 0;
      for (int i = 0; i < 4; i++) {
        sent[i] = UPDATES[worker][i];
        product += sent[i] * aggregate[i];
      }
      double length = norm(sent, new double[4]);
      assertEquals(worker, update.rank());
      assertEquals(length, update.norm(), 1e-5);
      assertEquals(norm(sent, aggregate), update.distance(), 1e-4);
      assertEquals(product / length / round.norm(), update.cosine(), 1e-4);
    }
    assertTrue(round.workers().get(4).cosine() < -0.9, round::toString);
    requireShares(reduction, round.workers());
  }

  @ParameterizedTest
  @ValueSource(strings = {"geometricMedian", "centredClipping", "median"})
  void shouldLeaveAWorkerOutWhenItsUpdatesPointedTheOtherWayInSequence(String reduction) {
    JsonObject section = new JsonObject().put("reduction", reduction).put("expel", 2);
    ReductionConfig config =
        ReductionConfig.read(Settings.of("test.json", section), ReductionConfig.Kind.KRUM);
    TestJob job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 4, 0, 9, 5, 2, 2);
    List<TestShard> shards = List.of(shard(job, 0, config), shard(job, 1, config));

    for (int round = 0; round < 4; round++) {
      for (int worker = 0; worker < 5; worker++) {
        for (int part = 0; part < 2; part++) {
          float[] piece = Arrays.copyOfRange(UPDATES[worker], 2 * part, 2 * part + 2);
          shards.get(part).handle(job.gradient(worker, round, part, round, piece));
        }
      }
    }

    assertEquals(
        List.of(List.of(), List.of(4), List.of(4), List.of(4)),
        facts.stream().map(RoundFacts::expelled).toList());
    assertEquals(List.of(5, 5, 4, 4), facts.stream().map(round -> round.workers().size()).toList());
  }

  /** The second partition of worker 2's update holds NaN, or both partitions of all updates. */
  @ParameterizedTest
  @CsvSource({"geometricMedian, 1", "centredClipping, 1", "median, 1", "krum, 5", "median, 5"})
  void shouldLeaveAnUpdateOutOfTheRoundWhenAPartOfItIsNotFinite(String reduction, int spoilt) {
    JsonObject section = new JsonObject().put("reduction", reduction).put("expel", 2);
    ReductionConfig config =
        ReductionConfig.read(Settings.of("test.json", section), ReductionConfig.Kind.KRUM);
    TestJob job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 4, 0, 9, 5, 2, 2);
    List<TestShard> shards = List.of(shard(job, 0, config), shard(job, 1, config));

    for (int round = 0; round < 2; round++) {
      for (int worker = 0; worker < 5; worker++) {
        for (int part = 0; part < 2; part++) {
          float[] piece = Arrays.copyOfRange(UPDATES[0], 2 * part, 2 * part + 2);
          boolean nan = spoilt == 5 || worker == 2 && part == 1;
          piece[1] = nan ? Float.NaN : piece[1];
          shards.get(part).handle(job.gradient(worker, round, part, round, piece));
        }
      }
    }

    List<RoundFacts.Update> workers = facts.get(0).workers();
    assertEquals(5, workers.size());
    assertEquals(5 - spoilt, workers.stream().filter(RoundFacts.Update::isFinite).count());
    assertEquals(
        spoilt == 1 ? List.of(List.of(), List.of(2)) : List.of(List.of(), List.of()),
        facts.stream().map(RoundFacts::expelled).toList());
    for (int i = 0; i < 4; i++) {
      float now = job.parameters(shards.get(i / 2), i / 2)[i % 2];
      assertTrue(Float.isFinite(now), "element " + i);
      if (spoilt == 5) {
        assertEquals(job.initial()[i], now);
      }
    }
  }

  /** The liar sends the negative of an honest update, ten thousand million times as long. */
  @ParameterizedTest
  @ValueSource(strings = {"geometricMedian", "centredClipping", "median", "krum"})
  void shouldMeasureTheAngleWhenAnUpdateIsHuge(String reduction) {
    JsonObject section = new JsonObject().put("reduction", reduction);
    ReductionConfig config =
        ReductionConfig.read(Settings.of("test.json", section), ReductionConfig.Kind.KRUM);
    TestJob job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 20_000, 0, 3, 5, 10_000, 2);
    List<TestShard> shards = List.of(shard(job, 0, config), shard(job, 1, config));

    for (int part = 0; part < 2; part++) {
      for (int worker = 0; worker < 5; worker++) {
        float[] piece = new float[10_000];
        for (int i = 0; i < piece.length; i++) {
          double honest = Math.sin(i + part) / 50 + (worker % 4) * Math.cos(7 * i) / 1000;
          piece[i] = (float) (worker < 4 ? honest : -1e10 * honest);
        }
        shards.get(part).handle(job.gradient(worker, 0, part, 0, piece));
      }
    }

    RoundFacts.Update liar = facts.get(0).workers().get(4);
    assertTrue(liar.cosine() < -0.95 && liar.cosine() >= -1, liar::toString);
    // The norm of sine at 20,000 points.
    assertEquals(2e10, liar.norm(), 2e7);
    assertEquals(2e10, liar.distance(), 2e7);
  }

  @ParameterizedTest
  @ValueSource(strings = {"geometricMedian", "centredClipping", "trimmedMean"})
  void shouldLeaveTheSameWorkerOutWhenAShardIsRestored(String reduction) {
    requireFollowed(reduction, 1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"geometricMedian", "centredClipping", "trimmedMean"})
  void shouldNameTheExpelledWorkerWhenTheFirstShardIsRestored(String reduction) {
    requireFollowed(reduction, 0);
  }

  private void requireFollowed(String reduction, int lost) {
    JsonObject section = new JsonObject().put("reduction", reduction).put("expel", 2);
    ReductionConfig config =
        ReductionConfig.read(Settings.of("test.json", section), ReductionConfig.Kind.KRUM);
    TestJob job =
        new TestJob(new JsonObject("{\"name\": \"sync\"}"), 4, 0, 9, 5, 2, 2).withRanks(5);
    List<TestShard> shards = new ArrayList<>();
    shards.add(shard(job, 0, config));
    shards.add(shard(job, 1, config));
    for (int round = 0; round < 3; round++) {
      send(job, shards, round);
    }
    TestShard restored = shard(job, lost, config);
    restored.restoreFrom(shards.get(lost));
    restored.membershipChanged(TestJob.workers(5));
    shards.set(lost, restored);
    for (int round = 3; round < 6; round++) {
      send(job, shards, round);
    }

    float[] before = job.parameters(shards.get(1), 1);
    send(job, shards, 6);

    assertEquals(List.of(4), facts.get(facts.size() - 1).expelled());
    if (reduction.equals("trimmedMean")) {
      // Without the liar: 3.5, 4, 4 and 4 of which the lowest and the highest are dropped.
      float step = before[1] - job.parameters(shards.get(1), 1)[1];
      assertEquals(4 * TestJob.LEARNING_RATE, step, 1e-6f);
    }
  }

  private static void send(TestJob job, List<TestShard> shards, int round) {
    for (int worker = 0; worker < 5; worker++) {
      for (int part = 0; part < 2; part++) {
        float[] piece = Arrays.copyOfRange(UPDATES[worker], 2 * part, 2 * part + 2);
        shards.get(part).handle(job.gradient(worker, round, part, round, piece));
      }
    }
    shards.forEach(shard -> shard.tick(job.clock.getAsLong()));
    shards.forEach(shard -> shard.tick(job.clock.getAsLong()));
  }

  private static void requireShares(String reduction, List<RoundFacts.Update> workers) {
    List<Double> shares = workers.stream().map(RoundFacts.Update::share).toList();
    switch (reduction) {
      // The first is the one nearest to two others.
      case "krum" -> assertEquals(List.of(5.0, 0.0, 0.0, 0.0, 0.0), shares);
      case "median" -> assertTrue(shares.stream().allMatch(share -> share.isNaN()));
      // From zero: the median of the lengths, which is 5, counts in full; the liar a tenth.
      default -> {
        assertEquals(1, shares.get(0), 1e-6);
        assertEquals(0.1, shares.get(4), 1e-6);
      }
    }
  }

  private TestShard shard(TestJob job, int index, ReductionConfig config) {
    StrategyFactory factory =
        StrategyFactory.inRounds(
                context ->
                    Barrier.keepingAll(
                        "test",
                        50_000,
                        context,
                        new RobustReduction(
                            config,
                            0,
                            context,
                            new float[config.memory(context.partition())],
                            (aggregate, samples) -> context.store().apply(aggregate, 1, samples),
                            facts::add,
                            1)))
            .takingNotFinite();
    TestShard shard = job.shard(0, job.store(index), () -> new PartitionLedger(5), factory);
    shard.membershipChanged(TestJob.workers(5));
    return shard;
  }

  private static double norm(double[] a, double[] b) {
    double squares = 0;
    for (int i = 0; i < a.length; i++) {
      squares += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return Math.sqrt(squares);
  }
}
