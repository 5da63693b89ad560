package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.testkit.NetworkConditions;
import io.vertigrad.testkit.NetworkSimulator;
import io.vertigrad.testkit.RobustContract;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RobustStrategyTest {

  private static final String CLIPPING = "{\"name\": \"robust\", \"clipRadius\": 2}";
  private static final String KRUM = "{\"name\": \"robust\", \"reduction\": \"krum\"}";
  private static final int WORKERS = 5;

  @Nested
  class Median extends RobustContract {

    @Override
    protected String settings() {
      return robust("median");
    }
  }

  @Nested
  class TrimmedMean extends RobustContract {

    @Override
    protected String settings() {
      return robust("trimmedMean");
    }
  }

  @Nested
  class GeometricMedian extends RobustContract {

    @Override
    protected String settings() {
      return robust("geometricMedian");
    }
  }

  @Nested
  class Krum extends RobustContract {

    @Override
    protected String settings() {
      return robust("krum");
    }
  }

  @Nested
  class MultiKrum extends RobustContract {

    @Override
    protected String settings() {
      return robust("multiKrum");
    }
  }

  @Nested
  class Clipping extends RobustContract {

    @Override
    protected String settings() {
      return robust("centredClipping");
    }
  }

  @Nested
  class KrumWithTwoLiars extends RobustContract {

    @Override
    protected String settings() {
      return robust("krum").replace("1}", "2}");
    }

    @Override
    protected int liars() {
      return 2;
    }
  }

  private static String robust(String reduction) {
    return "{\"name\": \"robust\", \"reduction\": \"%s\", \"liars\": 1}".formatted(reduction);
  }

  @Nested
  class Neighbours extends StrategyContract {

    @Override
    protected String settings() {
      return "{\"name\": \"robust\", \"reduction\": \"trimmedMean\", \"neighbours\": true}";
    }
  }

  /** Each round of {@code steps} x {@code WORKERS} gradients of 24 elements in two shards. */
  private static float[][] run(String strategy, int rounds, Sender sender) {
    TestJob job = new TestJob(new JsonObject(strategy), 24, 0, rounds, WORKERS, 6, 2);
    List<TestShard> shards = List.of(job.shard(0, 0), job.shard(1, 0));
    shards.forEach(shard -> shard.membershipChanged(TestJob.workers(WORKERS)));
    for (int round = 0; round < rounds; round++) {
      List<Future<Frame>> answers = new ArrayList<>();
      for (int worker = 0; worker < WORKERS; worker++) {
        float[] gradient = sender.gradient(worker, round);
        for (int part = 0; part < 4; part++) {
          float[] piece = Arrays.copyOfRange(gradient, 6 * part, 6 * part + 6);
          answers.add(shards.get(part / 2).handle(job.gradient(worker, round, part, round, piece)));
        }
      }
      shards.forEach(shard -> shard.tick(job.clock.getAsLong()));
      shards.forEach(shard -> shard.tick(job.clock.getAsLong()));
      for (Future<Frame> answer : answers) {
        assertEquals(Outcome.APPLIED, ((ParameterPartition) answer.result()).outcome());
      }
    }
    float[][] parameters = new float[4][];
    for (int part = 0; part < 4; part++) {
      parameters[part] = job.parameters(shards.get(part / 2), part);
    }
    return parameters;
  }

  @FunctionalInterface
  private interface Sender {

    float[] gradient(int worker, int round);
  }

  private static float[] gradient(int worker, int round) {
    Random random = new Random(worker * 31L + round);
    float[] gradient = new float[24];
    for (int i = 0; i < gradient.length; i++) {
      gradient[i] = (float) (Math.sin(i + 1) + 0.3 * random.nextGaussian());
    }
    return gradient;
  }

  /** Worker 3 sends the negative, ten times as long. */
  private static float[] withLiar(int worker, int round) {
    float[] gradient = gradient(worker, round);
    for (int i = 0; worker == 3 && i < gradient.length; i++) {
      gradient[i] *= -10;
    }
    return gradient;
  }

  /** The initial parameters minus the learning rate times the sum of the rounds' aggregates. */
  private static float[] stepped(double[][] aggregates) {
    float[] parameters = new float[24];
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] = i / 8f;
      for (double[] aggregate : aggregates) {
        parameters[i] -= TestJob.LEARNING_RATE * aggregate[i];
      }
    }
    return parameters;
  }

  private static void requireEqual(float[] expected, float[][] found) {
    for (int part = 0; part < 4; part++) {
      float[] piece = Arrays.copyOfRange(expected, 6 * part, 6 * part + 6);
      assertArrayEquals(piece, found[part], 1e-5f, "partition " + part);
    }
  }

  @Test
  void shouldEqualSyncWhenTheReductionIsTheMean() {
    float[][] mean =
        run("{\"name\": \"robust\", \"reduction\": \"mean\"}", 3, RobustStrategyTest::gradient);
    float[][] sync = run("{\"name\": \"sync\"}", 3, RobustStrategyTest::gradient);

    for (int part = 0; part < 4; part++) {
      assertArrayEquals(sync[part], mean[part], "partition " + part);
    }
  }

  @Test
  void shouldClipDifferencesOfTheWholeVectorWhenPartitionsAndShardsDivideIt() {
    double[] previous = new double[24];
    double[][] aggregates = new double[3][];
    for (int round = 0; round < 3; round++) {
      double[] next = previous.clone();
      for (int worker = 0; worker < WORKERS; worker++) {
        float[] sent = withLiar(worker, round);
        double squares = 0;
        for (int i = 0; i < 24; i++) {
          squares += (sent[i] - previous[i]) * (sent[i] - previous[i]);
        }
        double factor = Math.min(1, 2 / Math.sqrt(squares)) / WORKERS;
        for (int i = 0; i < 24; i++) {
          next[i] += factor * (sent[i] - previous[i]);
        }
      }
      aggregates[round] = next;
      previous = next;
    }

    requireEqual(stepped(aggregates), run(CLIPPING, 3, RobustStrategyTest::withLiar));
  }

  @Test
  void shouldStepWithTheUpdateNearestToItsNeighboursWhenTheReductionIsKrum() {
    double[][] aggregates = new double[3][24];
    for (int round = 0; round < 3; round++) {
      double best = Double.POSITIVE_INFINITY;
      for (int worker = 0; worker < WORKERS; worker++) {
        float[] own = withLiar(worker, round);
        double[] squares = new double[WORKERS];
        for (int other = 0; other < WORKERS; other++) {
          float[] theirs = withLiar(other, round);
          for (int i = 0; i < 24; i++) {
            squares[other] += (own[i] - theirs[i]) * (own[i] - theirs[i]);
          }
        }
        Arrays.sort(squares);
        // The distance to itself, and to n - f - 2 = 2 others.
        double score = squares[1] + squares[2];
        if (score < best) {
          best = score;
          for (int i = 0; i < 24; i++) {
            aggregates[round][i] = own[i];
          }
        }
      }
    }

    requireEqual(stepped(aggregates), run(KRUM, 3, RobustStrategyTest::withLiar));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"reduction\": \"median\"",
        "\"reduction\": \"trimmedMean\"",
        "\"reduction\": \"geometricMedian\"",
        "\"reduction\": \"krum\"",
        "\"reduction\": \"multiKrum\"",
        "\"reduction\": \"centredClipping\"",
        "\"reduction\": \"median\", \"neighbours\": true",
        "\"reduction\": \"geometricMedian\", \"neighbours\": true",
        "\"reduction\": \"centredClipping\", \"neighbours\": true",
        "\"reduction\": \"median\", \"bucket\": 2",
        "\"reduction\": \"geometricMedian\", \"bucket\": 2",
        "\"reduction\": \"centredClipping\", \"bucket\": 2"
      })
  void shouldStayNearTheHonestMeanWhenOneOfFiveLies(String reduction) {
    int rounds = 12;
    float[][] found =
        run(
            "{\"name\": \"robust\", %s}".formatted(reduction),
            rounds,
            RobustStrategyTest::withLiar);

    double[][] means = new double[rounds][24];
    for (int round = 0; round < rounds; round++) {
      for (int worker = 0; worker < WORKERS; worker++) {
        float[] sent = gradient(worker, round);
        for (int i = 0; worker != 3 && i < 24; i++) {
          means[round][i] += sent[i] / 4.0;
        }
      }
    }
    float[] honest = stepped(means);
    double[] liar = new double[24];
    double error = 0;
    double ofMean = 0;
    for (int i = 0; i < 24; i++) {
      double away = found[i / 6][i % 6] - honest[i];
      error += away * away;
      for (int round = 0; round < rounds; round++) {
        liar[i] += TestJob.LEARNING_RATE * (withLiar(3, round)[i] - means[round][i]) / WORKERS;
      }
      ofMean += liar[i] * liar[i];
    }
    assertTrue(
        error < 0.36 * ofMean,
        "%s, off by %s, the mean by %s".formatted(reduction, Math.sqrt(error), Math.sqrt(ofMean)));
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 3", "4, 1", "5, 2", "6, 3"})
  void shouldEndWithTheBitsOfACleanRunWhenTheNetworkIsUnreliable(long seed, int shards) {
    requireSame(
        simulated(CLIPPING, NetworkConditions.RELIABLE, 0, shards),
        simulated(CLIPPING, NetworkConditions.UNRELIABLE, seed, shards));
    requireSame(
        simulated(KRUM, NetworkConditions.RELIABLE, 0, shards),
        simulated(KRUM, NetworkConditions.UNRELIABLE.withCuts(1), seed, shards));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void shouldEndWithTheBitsOfACleanRunWhenWorkersAndServersAreKilled(long seed) {
    NetworkConditions chaos = NetworkConditions.UNRELIABLE.withWorkerDeaths(2).withServerCrashes(2);

    requireSame(
        simulated(CLIPPING, NetworkConditions.RELIABLE, 0, 3), simulated(CLIPPING, chaos, seed, 3));
  }

  private static NetworkSimulator simulated(
      String strategy, NetworkConditions conditions, long seed, int shards) {
    return new NetworkSimulator(strategy, 4, shards, conditions, seed).run();
  }

  private static void requireSame(NetworkSimulator expected, NetworkSimulator found) {
    float[][] clean = expected.parameters();
    float[][] parameters = found.parameters();
    for (int part = 0; part < clean.length; part++) {
      assertArrayEquals(clean[part], parameters[part], "partition " + part);
    }
    assertEquals(List.of(), found.unexpectedRefusals());
  }

  @Test
  void shouldKeepTheClippingCentreWhenAShardIsRestored() {
    TestJob job = new TestJob(CLIPPING, 4, 0, 6, 1);
    TestShard first = job.shard();
    first.membershipChanged(TestJob.workers(1));
    first.handle(job.gradient(0, 0, 0, 0, 3, 4, 0, 0));
    TestShard second = job.shard(0, 1);
    second.restoreFrom(first);
    second.membershipChanged(TestJob.workers(1));

    second.handle(job.gradient(0, 1, 0, 1, 3, 4, 0, 0));

    // From zero by 2 of 5, then by 2 of the remaining 3: 2/5 and 4/5 of the gradient.
    float[] expected = {-0.1f * 3 * 1.2f, 0.125f - 0.1f * 4 * 1.2f, 0.25f, 0.375f};
    assertArrayEquals(expected, job.parameters(second, 0), 1e-6f);
  }

  @Test
  void shouldCombineStatisticsByTheirMedianWhenTheReductionIsKrum() {
    TestJob job = new TestJob(KRUM, 4, 2, 6, 3);
    TestShard shard = job.shard();
    shard.membershipChanged(TestJob.workers(3));

    shard.handle(job.gradient(0, 0, 1, 0, 0.25f, 0.5f));
    shard.handle(job.gradient(1, 0, 1, 0, 0.125f, -9e8f));
    shard.handle(job.gradient(2, 0, 1, 0, 9e8f, 0.25f));

    assertArrayEquals(new float[] {0.5f - 0.25f, 0.625f - 0.25f}, job.parameters(shard, 1), 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"geometricMedian", "median", "centredClipping"})
  void shouldStepAlikeWhenALiarClaimsManySamples(String reduction) {
    assertArrayEquals(claiming(reduction, 10), claiming(reduction, Integer.MAX_VALUE));
  }

  /** Returns the parameters after a round of three in which one claims so many samples. */
  private static float[] claiming(String reduction, int samples) {
    TestJob job =
        new TestJob(
            "{\"name\": \"robust\", \"reduction\": \"%s\"}".formatted(reduction), 2, 0, 6, 3);
    TestShard shard = job.shard();
    shard.membershipChanged(TestJob.workers(3));
    shard.handle(job.gradient(new ExchangeId(TestJob.JOB, 0, 0, 1, 0, 0), 0, 10, 1, 1));
    shard.handle(job.gradient(new ExchangeId(TestJob.JOB, 1, 0, 1, 0, 0), 0, 10, 1.5f, 1));
    shard.handle(job.gradient(new ExchangeId(TestJob.JOB, 2, 0, 1, 0, 0), 0, samples, -9, -7));
    return job.parameters(shard, 0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"reduction\": \"mean\", \"liars\": 1 | liars",
        "\"reduction\": \"mean\", \"bucket\": 2 | bucket",
        "\"reduction\": \"mean\", \"neighbours\": true | neighbours",
        "\"bucket\": 2, \"neighbours\": true | neighbours",
        "\"reduction\": \"krum\", \"clipRadius\": 1 | clipRadius",
        "\"reduction\": \"best\" | reduction",
        "\"liars\": 0, \"expel\": 3 | expel",
        "\"momentum\": 1 | momentum",
        "\"quorum\": 1 | quorum"
      })
  void shouldRefuseKeysThatDoNotFitWhenRead(String keys, String named) {
    JsonObject section = new JsonObject("{\"name\": \"robust\", %s}".formatted(keys));

    SettingsException refused =
        assertThrows(SettingsException.class, () -> configured(job(section, 5)));

    assertTrue(refused.getMessage().contains("strategy." + named), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "krum | 1 | 1 | 4",
        "median | 2 | 1 | 4",
        "centredClipping | 1 | 2 | 4",
        "geometricMedian | 3 | 1 | 6"
      })
  void shouldRefuseTooManyLiarsWhenThereAreFewWorkers(
      String reduction, int liars, int bucket, int workers) {
    JsonObject section =
        new JsonObject()
            .put("name", "robust")
            .put("reduction", reduction)
            .put("liars", liars)
            .put("bucket", bucket);

    SettingsException refused =
        assertThrows(SettingsException.class, () -> configured(job(section, workers)));

    assertTrue(refused.getMessage().contains("strategy.liars"), refused.getMessage());
    assertTrue(refused.getMessage().contains(workers + " workers"), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"compression, int8", "overlap, true"})
  void shouldRefuseAnExchangeThatDoesNotFitWhenWorkersSendTheirMomentum(String key, String value) {
    JsonObject file = job(new JsonObject().put("name", "robust").put("momentum", 0.9), 5);
    Object found = value.equals("true") ? Boolean.TRUE : value;
    file.put("exchange", new JsonObject().put(key, found));

    SettingsException refused = assertThrows(SettingsException.class, () -> configured(file));

    assertTrue(refused.getMessage().contains("exchange." + key), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "mean, false, false",
    "median, false, false",
    "median, true, true",
    "krum, false, true",
    "centredClipping, false, true"
  })
  void shouldSendWholeGradientsWhenAStepNeedsSumsOverAllPartitions(
      String reduction, boolean neighbours, boolean sums) {
    JsonObject section = new JsonObject().put("name", "robust").put("reduction", reduction);

    StrategyFactory factory =
        configured(job(neighbours ? section.put("neighbours", true) : section, 5));

    assertEquals(sums, factory.traits().sumsPartitions());
  }

  private static JsonObject job(JsonObject strategy, int workers) {
    return new JsonObject()
        .put("job", "robust-test")
        .put("strategy", strategy)
        .put("workers", new JsonObject().put("count", workers));
  }

  private static StrategyFactory configured(JsonObject file) {
    JobConfig job = JobConfig.read("test.json", file);
    return StrategyProviders.configure(job, RobustStrategyTest.class.getClassLoader());
  }
}
