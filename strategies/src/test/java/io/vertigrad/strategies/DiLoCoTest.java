package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.codecs.DataType;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class DiLoCoTest {

  private static final double CLOSE = 1e-4;
  private static final int TRAINABLE = 5;
  private static final double RATE = 0.1;

  /** The file has the trajectories that torchft keeps for its own regression test. */
  @ParameterizedTest
  @MethodSource("published")
  void shouldReproduceThePublishedTrajectories(JsonObject published) {
    int replicas = published.getJsonArray("replicas").size();
    List<Map<Integer, float[]>> parameters = new ArrayList<>();
    List<Map<Integer, float[]>> globals = new ArrayList<>();
    for (int i = 0; i < replicas; i++) {
      parameters.add(new TreeMap<>());
      globals.add(new TreeMap<>());
    }
    String settings =
        ("{\"syncEvery\": 6, \"fragments\": 2, \"outerLearningRate\": 2, \"outerMomentum\": 0,"
                + " \"fragmentSyncDelay\": %s, \"fragmentUpdateAlpha\": %s}")
            .formatted(
                published.getValue("fragmentSyncDelay"), published.getValue("fragmentUpdateAlpha"));
    SimulatedTraining training = training(settings, NetworkFaults.FREQUENT, 3);
    training.optimizer = OptimizerConfig.sgd(1);
    training.length = 2;
    training.trainable = 2;
    training.initialValue = 1;
    training.steps = 15;
    training.gradient =
        (rank, step, x) -> {
          parameters.get(rank).put((int) step, x.clone());
          if (step % 3 == 0) {
            float[] memory = training.strategies.get(rank).memory();
            globals.get(rank).put((int) step, Arrays.copyOf(memory, 2));
          }
          return new float[] {2, 2};
        };

    training.run(replicas);

    for (int rank = 0; rank < replicas; rank++) {
      parameters.get(rank).put(15, training.parameters(rank));
      JsonObject expected = published.getJsonArray("replicas").getJsonObject(rank);
      assertEquals(
          rows(expected.getJsonObject("parametersBeforeStep")), rows(parameters.get(rank)));
      assertEquals(rows(expected.getJsonObject("globalParameters")), rows(globals.get(rank)));
    }
  }

  static Stream<JsonObject> published() throws IOException {
    try (InputStream file = DiLoCoTest.class.getResourceAsStream("diloco-torchft.json")) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      return new JsonObject(text).getJsonArray("cases").stream().map(JsonObject.class::cast);
    }
  }

  private static Map<Integer, List<Double>> rows(JsonObject json) {
    Map<Integer, List<Double>> rows = new TreeMap<>();
    json.fieldNames()
        .forEach(
            step ->
                rows.put(
                    Integer.valueOf(step),
                    json.getJsonArray(step).stream()
                        .map(x -> ((Number) x).doubleValue())
                        .toList()));
    return rows;
  }

  private static Map<Integer, List<Double>> rows(Map<Integer, float[]> values) {
    Map<Integer, List<Double>> rows = new TreeMap<>();
    values.forEach((step, row) -> rows.put(step, List.of((double) row[0], (double) row[1])));
    return rows;
  }

  @ParameterizedTest
  @CsvSource({
    "1, 4, 1, 0, 0, 13",
    "2, 4, 1, 0, 0, 12",
    "3, 6, 2, 0, 0, 20",
    "4, 6, 3, 1, 0.25, 25",
    "3, 5, 1, 4, 0.75, 23",
    "2, 1, 1, 0, 0, 9",
    "3, 4, 2, 1, 1, 15"
  })
  void shouldFollowTheIterationByHand(
      int workers, int syncEvery, int fragments, int delay, double alpha, int steps) {
    String settings =
        ("{\"syncEvery\": %d, \"fragments\": %d, \"fragmentSyncDelay\": %d,"
                + " \"fragmentUpdateAlpha\": %s, \"outerLearningRate\": 0.5,"
                + " \"outerMomentum\": 0.8}")
            .formatted(syncEvery, fragments, delay, alpha);
    SimulatedTraining training = training(settings, NetworkFaults.FREQUENT, 7);
    training.steps = steps;
    training.run(workers);

    double[][] x = new double[workers][TRAINABLE];
    double[] global = new double[TRAINABLE];
    double[] velocity = new double[TRAINABLE];
    double[] mean = new double[TRAINABLE];
    for (int e = 0; e < TRAINABLE; e++) {
      global[e] = 1 + e;
      for (double[] each : x) {
        each[e] = 1 + e;
      }
    }
    int interval = syncEvery / fragments;
    for (int step = 1; step <= steps; step++) {
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < TRAINABLE; e++) {
          x[i][e] -= RATE * (x[i][e] - SimulatedTraining.target(i, e));
        }
      }
      if ((step + delay) % interval == 0) {
        for (int e = 0; e < TRAINABLE; e++) {
          double sum = 0;
          for (double[] each : x) {
            sum += global[e] - each[e];
          }
          mean[e] = sum / workers;
        }
      }
      if (step % interval == 0) {
        int fragment = (step / interval - 1) % fragments;
        for (int e = TRAINABLE * fragment / fragments;
            e < TRAINABLE * (fragment + 1) / fragments;
            e++) {
          velocity[e] = 0.8 * velocity[e] + mean[e];
          global[e] -= 0.5 * (mean[e] + 0.8 * velocity[e]);
          for (double[] each : x) {
            each[e] = global[e] + alpha * (each[e] - global[e]);
          }
        }
      }
    }
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < TRAINABLE; e++) {
        assertEquals(x[i][e], training.parameters(i)[e], CLOSE);
      }
    }
  }

  /** Two groups of two: the mean gradient of a group in every step, the outer step between them. */
  @ParameterizedTest
  @CsvSource({
    "mean, 4, 2, 1, 0, 0",
    "mean, 4, 2, 2, 1, 0.25",
    "mean, 3, 3, 1, 0, 0",
    "mean, 6, 2, 1, 2, 0",
    "sum, 4, 2, 1, 0, 0",
    "sum, 6, 2, 2, 1, 0.25"
  })
  void shouldFollowTheIterationByHandBetweenGroups(
      String reduction, int workers, int groups, int fragments, int delay, double alpha) {
    SimulatedTraining training =
        hierarchy(
            reduction,
            groups,
            "{\"name\": \"diloco\", \"syncEvery\": 6, \"fragments\": %d, \"fragmentSyncDelay\": %d,"
                    .formatted(fragments, delay)
                + " \"fragmentUpdateAlpha\": %s, \"outerLearningRate\": 0.5,".formatted(alpha)
                + " \"outerMomentum\": 0.8}",
            NetworkFaults.FREQUENT,
            11);
    training.steps = 20;
    training.run(workers);

    int size = workers / groups;
    int divisor = reduction.equals("sum") ? 1 : size;
    double[][] x = new double[groups][TRAINABLE];
    double[] global = new double[TRAINABLE];
    double[] velocity = new double[TRAINABLE];
    double[] mean = new double[TRAINABLE];
    for (int e = 0; e < TRAINABLE; e++) {
      global[e] = 1 + e;
      for (double[] each : x) {
        each[e] = 1 + e;
      }
    }
    int interval = 6 / fragments;
    for (int step = 1; step <= training.steps; step++) {
      for (int g = 0; g < groups; g++) {
        for (int e = 0; e < TRAINABLE; e++) {
          double gradient = 0;
          for (int i = g * size; i < (g + 1) * size; i++) {
            gradient += (x[g][e] - SimulatedTraining.target(i, e)) / divisor;
          }
          x[g][e] -= RATE * gradient;
        }
      }
      for (int e = 0; e < TRAINABLE && (step + delay) % interval == 0; e++) {
        double sum = 0;
        for (double[] each : x) {
          sum += global[e] - each[e];
        }
        mean[e] = sum / groups;
      }
      int fragment = (step / interval - 1) % fragments;
      for (int e = TRAINABLE * fragment / fragments;
          step % interval == 0 && e < TRAINABLE * (fragment + 1) / fragments;
          e++) {
        velocity[e] = 0.8 * velocity[e] + mean[e];
        global[e] -= 0.5 * (mean[e] + 0.8 * velocity[e]);
        for (double[] each : x) {
          each[e] = global[e] + alpha * (each[e] - global[e]);
        }
      }
    }
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < TRAINABLE; e++) {
        assertEquals(x[i / size][e], training.parameters(i)[e], CLOSE);
      }
      assertArrayEquals(training.parameters(i / size * size), training.parameters(i));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void shouldContinueWhenAWorkerOfAGroupDies(long seed) {
    SimulatedTraining training =
        hierarchy(
            "mean", 2, "{\"name\": \"diloco\", \"syncEvery\": 8}", NetworkFaults.FREQUENT, seed);
    training.steps = 40;
    training.network.kill(30_000_000 + seed * 5_700_000, 0);
    training.network.regroup(150_000_000, 2, List.of(1, 2, 3));

    training.run(4);

    for (int rank = 1; rank < 4; rank++) {
      assertEquals(40, training.replicas.get(rank).updates());
      assertArrayEquals(training.parameters(1), training.parameters(rank));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'groups': 2} | between is missing with 2 groups, expected { \"name\": \"diloco\" }",
        "{'between': {'name': 'diloco'}} | groups is 1 with between, expected at least 2",
        "{'groups': 2, 'between': {'name': 'sync'}} | between.name is \"sync\", expected one of",
        "{'groups': 2, 'between': {'name': 'diloco', 'every': 2}} | between.every is not a known",
        "{'groups': 2, 'powerSgdRank': 1, 'between': {'name': 'diloco'}} | powerSgdRank is set"
      })
  void shouldNameTheKeyWhenASettingOfTheHierarchyIsWrong(String section, String expected) {
    JsonObject json = new JsonObject(section.replace('\'', '"'));

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () -> new AllReduceStrategy.Provider().configure(settings(json)));

    assertTrue(refused.getMessage().startsWith("job.json: " + expected), refused.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"quorum", "powerSgdRank"})
  void shouldNameAKeyOfServersWhenSyncRunsWithinGroups(String key) {
    JsonObject json =
        new JsonObject("{\"groups\": 2, \"between\": {\"name\": \"diloco\"}}").put(key, 1);

    SettingsException refused =
        assertThrows(
            SettingsException.class, () -> new SyncGather.Provider().configure(settings(json)));

    assertEquals(
        "job.json: %s is set with between, expected to be left out".formatted(key),
        refused.getMessage());
  }

  @Test
  void shouldRefuseGroupsThatAreNotEqual() {
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject(
                "{\"workers\": {\"count\": 3}, \"strategy\": {\"name\": \"allreduce\","
                    + " \"groups\": 2, \"between\": {\"name\": \"diloco\"}}}"));

    assertEquals(
        "job.json: strategy.groups is 2, expected a divisor of workers.count (3)",
        assertThrows(
                SettingsException.class,
                () -> StrategyProviders.configure(job, getClass().getClassLoader()))
            .getMessage());
  }

  /** With a mean, {@code allreduce} within the groups and {@code sync} do the same. */
  private static SimulatedTraining hierarchy(
      String reduction, int groups, String between, NetworkFaults faults, long seed) {
    boolean sync = reduction.equals("sum");
    return new SimulatedTraining(
        sync ? new SyncGather.Provider() : new AllReduceStrategy.Provider(),
        "{%s \"groups\": %d, \"between\": %s}"
            .formatted(sync ? "\"reduction\": \"sum\"," : "", groups, between),
        faults,
        seed);
  }

  @Test
  void shouldAverageStatisticsWithTheLastFragment() {
    SimulatedTraining training =
        training("{\"syncEvery\": 4, \"fragments\": 2}", NetworkFaults.NONE, 1);
    training.steps = 4;

    training.run(3);

    float initial = training.initial(0)[6];
    for (int rank = 0; rank < 3; rank++) {
      assertEquals(initial - 4 * 0.25 * 2, training.parameters(rank)[6], CLOSE);
    }
  }

  @Test
  void shouldSendOnlyWhenAFragmentIsDue() {
    SimulatedTraining seldom = training("{\"syncEvery\": 20}", NetworkFaults.NONE, 1);
    seldom.steps = 19;
    SimulatedTraining once = training("{\"syncEvery\": 20}", NetworkFaults.NONE, 1);
    once.steps = 20;

    long before = seldom.run(4).network.bytes();
    long after = once.run(4).network.bytes();

    // Each worker sends 2 (N - 1) / N of five parameters and two statistics, four bytes each.
    assertEquals(4 * 2 * 3 * 7, after - before);
  }

  /** A delayed mean travels while steps are taken, so nobody waits for it. */
  @Test
  void shouldNotWaitForADelayedFragment() {
    SimulatedTraining training =
        training(
            "{\"syncEvery\": 10, \"fragmentSyncDelay\": 6}",
            new NetworkFaults(0, 0, 2_000_000, 0),
            1);
    training.steps = 20;
    training.computeNanos = 1_000_000;

    training.run(3);

    assertEquals(0, training.strategies.get(1).timing().waitedNanos());
    assertTrue(training.strategies.get(1).timing().exchangeNanos() > 0);
  }

  @ParameterizedTest
  @CsvSource({
    "INT8, FLOAT32, 0.05",
    "INT4, FLOAT32, 0.2",
    "NONE, BFLOAT16, 0.05",
    "TOPK, FLOAT32, 0.5"
  })
  void shouldStayCloseWhenPseudoGradientsAreCompressed(Kind kind, DataType type, double tolerance) {
    SimulatedTraining exact = training("{\"syncEvery\": 2}", NetworkFaults.NONE, 1);
    exact.steps = 60;
    exact.run(3);
    SimulatedTraining lossy = training("{\"syncEvery\": 2}", NetworkFaults.FREQUENT, 2);
    lossy.steps = 60;
    lossy.compression = new Compression(kind, 0.4);
    lossy.type = type;
    lossy.run(3);

    for (int rank = 0; rank < 3; rank++) {
      assertArrayEquals(lossy.parameters(0), lossy.parameters(rank));
      for (int e = 0; e < TRAINABLE; e++) {
        assertEquals(exact.parameters(0)[e], lossy.parameters(rank)[e], tolerance);
      }
    }
  }

  @Test
  void shouldKeepTheGlobalParametersWhenAPseudoGradientIsNotFinite() {
    SimulatedTraining training = training("{\"syncEvery\": 2}", NetworkFaults.NONE, 1);
    training.optimizer = OptimizerConfig.sgd(1e6);
    training.steps = 2;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          Arrays.fill(g, rank == 0 ? 2e38f : 1e-6f);
          return g;
        };

    training.run(2);

    assertEquals(1, training.parameters(0)[0]);
    assertEquals(1, training.parameters(1)[0]);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void shouldContinueWhenAWorkerDies(long seed) {
    SimulatedTraining training =
        training(
            "{\"syncEvery\": 8, \"fragments\": 2, \"fragmentSyncDelay\": 2}",
            NetworkFaults.FREQUENT,
            seed);
    training.steps = 40;
    training.network.kill(30_000_000 + seed * 5_700_000, 0);
    training.network.regroup(120_000_000, 2, List.of(1, 2));

    training.run(3);

    float[] one = training.strategies.get(1).memory();
    assertArrayEquals(
        Arrays.copyOf(one, 2 * TRAINABLE),
        Arrays.copyOf(training.strategies.get(2).memory(), 2 * TRAINABLE),
        "global parameters and outer momentum");
    assertEquals(40, training.replicas.get(1).updates());
  }

  @Test
  void shouldSendTheOuterStateToANewcomer() {
    SimulatedTraining training = training("{\"syncEvery\": 4}", NetworkFaults.NONE, 1);
    training.steps = 24;
    training.workers = 3;
    training.network.start(0, training::train);
    training.network.start(1, training::train);
    training.network.start(2, training::train);
    training.network.regroup(0, 1, List.of(0, 1));
    training.network.regroup(12_500_000, 2, List.of(0, 1, 2));

    training.network.run();

    assertArrayEquals(
        Arrays.copyOf(training.strategies.get(0).memory(), 2 * TRAINABLE),
        Arrays.copyOf(training.strategies.get(2).memory(), 2 * TRAINABLE));
    assertArrayEquals(training.parameters(0), training.parameters(2));
  }

  @ParameterizedTest
  @CsvSource({"100, 1, 0, 0, 100, 100", "100, 4, 0, 0, 0, 25", "100, 1, 3, 0, 0, 100"})
  void shouldSaveReplicasWhenNoMessageIsUnderWay(
      int syncEvery, int fragments, int delay, double alpha, long agrees, long exchanges) {
    StrategyTraits traits =
        new DiLoCo.Provider()
            .configure(
                settings(
                    new JsonObject()
                        .put("syncEvery", syncEvery)
                        .put("fragments", fragments)
                        .put("fragmentSyncDelay", delay)
                        .put("fragmentUpdateAlpha", alpha)))
            .traits();

    assertEquals(agrees, traits.agreesEvery());
    assertEquals(exchanges, traits.exchangesEvery());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'syncEvery': 5, 'fragments': 2} | syncEvery is 5, expected a multiple of fragments (2)",
        "{'syncEvery': 6, 'fragments': 2, 'fragmentSyncDelay': 3} | fragmentSyncDelay is 3,"
            + " expected less than syncEvery / fragments = 3",
        "{'syncEvery': 0} | syncEvery is 0, expected a whole number from 1",
        "{'fragmentUpdateAlpha': 1.5} | fragmentUpdateAlpha is 1.5, expected a number from 0.0",
        "{'outerMomentum': 1} | outerMomentum is 1, expected a number from 0.0",
        "{'quorum': 2} | quorum is 2 without servers, expected \"servers\": true"
      })
  void shouldNameTheKeyWhenASettingIsWrong(String section, String expected) {
    JsonObject json = new JsonObject(section.replace('\'', '"'));

    SettingsException refused =
        assertThrows(
            SettingsException.class, () -> new DiLoCo.Provider().configure(settings(json)));

    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }

  private static Settings settings(JsonObject json) {
    return Settings.of("job.json", json);
  }

  private static SimulatedTraining training(String settings, NetworkFaults faults, long seed) {
    return new SimulatedTraining(new DiLoCo.Provider(), settings, faults, seed);
  }
}
