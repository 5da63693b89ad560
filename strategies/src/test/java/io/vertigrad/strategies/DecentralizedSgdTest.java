package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import io.vertigrad.collective.Topology;
import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DecentralizedSgdTest {

  private static final double RATE = 0.1;
  private static final double CLOSE = 1e-4;

  @ParameterizedTest
  @CsvSource({
    "ring, 2",
    "ring, 3",
    "ring, 5",
    "ring-deduplicated, 2",
    "complete, 4",
    "star, 4",
    "torus, 6",
    "exponential, 5",
    "base-k, 5",
    "base-k, 6",
    "ring, 1"
  })
  void shouldMatchTheMatrixIterationForEveryTopology(String topology, int workers) {
    SimulatedTraining training = training(topology, "", NetworkFaults.NONE, 1).run(workers);

    assertFollows(expected(Topology.named(topology, workers), 0, 0, training), training);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void shouldMatchTheMatrixIterationWhenMessagesAreLostDoubledAndReordered(long seed) {
    SimulatedTraining training = training("ring", "", NetworkFaults.FREQUENT, seed).run(4);

    assertFollows(expected(Topology.named("ring", 4), 0, 0, training), training);
  }

  @Test
  void shouldAddDecayOnceWhenConformanceIsClean() {
    SimulatedTraining training =
        training("ring", ",\"conformance\":\"clean\"", NetworkFaults.NONE, 1);
    training.optimizer = OptimizerConfig.sgd(RATE).withL2(0.3);

    training.run(4);

    assertFollows(expected(Topology.named("ring", 4), 0.3, 0, training), training);
  }

  @Test
  void shouldAddDecayTwiceWhenConformanceIsPublished() {
    SimulatedTraining training =
        training("ring", ",\"conformance\":\"published\"", NetworkFaults.NONE, 1);
    training.optimizer = OptimizerConfig.sgd(RATE).withL2(0.3);

    training.run(4);

    assertFollows(expected(Topology.named("ring", 4), 0.3, 0.3, training), training);
  }

  @Test
  void shouldAverageMomentumWhenConfigured() {
    double[] local = lastVelocities("local");
    double[] averaged = lastVelocities("averaged");

    // With a complete graph and one step, the second velocity is mu * mean(v) + g against mu v + g.
    assertEquals(0.5, averaged[0] - local[0], CLOSE);
  }

  /** Lin et al. 2021, algorithm 1, in double precision. */
  @ParameterizedTest
  @CsvSource({"ring, 4", "ring, 1", "exponential, 4", "base-k, 5"})
  void shouldFollowTheIterationByHandWithQuasiGlobalMomentum(String name, int workers) {
    double mu = 0.8;
    SimulatedTraining training =
        training(name, ",\"momentum\":\"quasi-global\"", NetworkFaults.FREQUENT, 5);
    training.optimizer =
        new OptimizerConfig(
            "sgd", RATE, mu, 0, 0, 0, 1e-8, 0, 0, 0, LearningRateSchedule.constant());
    training.steps = 12;

    training.run(workers);

    Topology topology = Topology.named(name, workers);
    double[][] x = new double[workers][training.trainable];
    double[][] m = new double[workers][training.trainable];
    for (double[] each : x) {
      for (int e = 0; e < each.length; e++) {
        each[e] = 1 + e;
      }
    }
    for (int step = 0; step < training.steps; step++) {
      double[][] half = new double[workers][training.trainable];
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < training.trainable; e++) {
          half[i][e] = x[i][e] - RATE * (x[i][e] - target(i, e) + mu * m[i][e]);
        }
      }
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < training.trainable; e++) {
          double next = 0;
          for (int j = 0; j < workers; j++) {
            next += topology.at(step).weight(i, j) * half[j][e];
          }
          m[i][e] = mu * m[i][e] + (1 - mu) * (x[i][e] - next) / RATE;
          x[i][e] = next;
        }
      }
    }
    assertFollows(x, training);
    for (int i = 0; i < workers; i++) {
      float[] memory = training.strategies.get(i).memory();
      for (int e = 0; e < training.trainable; e++) {
        assertEquals(m[i][e], memory[e], 1e-3);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"sgd, 0", "adam, 0.9", "nesterov, 0.9"})
  void shouldNameTheKeyWhenQuasiGlobalMomentumHasNoMomentum(String optimizer, double momentum) {
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject()
                .put("optimizer", new JsonObject().put("name", optimizer).put("momentum", momentum))
                .put(
                    "strategy",
                    new JsonObject().put("name", "dpsgd").put("momentum", "quasi-global")));

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () -> StrategyProviders.configure(job, getClass().getClassLoader()));

    assertTrue(
        refused
            .getMessage()
            .startsWith(
                "job.json: strategy.momentum is \"quasi-global\", expected an optimizer sgd with"
                    + " momentum"),
        refused.getMessage());
  }

  @Test
  void shouldShrinkConsensusDistanceByTheSecondEigenvalueWithoutGradients() {
    SimulatedTraining training = training("ring", "", NetworkFaults.NONE, 1);
    training.gradient = (rank, step, x) -> step == 0 ? filled(rank) : new float[x.length];
    training.steps = 6;

    training.run(8);

    // At step 0 the parameters are one wave around the ring, an eigenvector of the circulant
    // matrix.
    double start = distance(i -> -RATE * wave(i, 8), 8);
    double now = distance(i -> training.parameters(i)[0] - 1, 8);
    assertEquals(Math.pow(0.8047378541, 5), now / start, 1e-3);
  }

  @Test
  void shouldKeepStatisticsLocalWhileTraining() {
    SimulatedTraining training = training("ring", "", NetworkFaults.NONE, 1).run(3);

    float initial = training.initial(0)[6];
    assertEquals(initial - 10 * 0.25f * 1, training.parameters(0)[6], CLOSE);
    assertEquals(initial - 10 * 0.25f * 3, training.parameters(2)[6], CLOSE);
  }

  @Test
  void shouldStayCloseWhenParametersTravelAsBfloat16() {
    SimulatedTraining training = training("ring", "", NetworkFaults.NONE, 1);
    training.type = DataType.BFLOAT16;

    training.run(4);

    double[][] exact = expected(Topology.named("ring", 4), 0, 0, training);
    for (int i = 0; i < 4; i++) {
      assertEquals(exact[i][0], training.parameters(i)[0], 0.05);
    }
  }

  private static double[] lastVelocities(String momentum) {
    SimulatedTraining training =
        training("complete", ",\"momentum\":\"" + momentum + "\"", NetworkFaults.NONE, 1);
    training.optimizer =
        new OptimizerConfig("sgd", 1, 0.5, 0, 0, 0, 1e-8, 0, 0, 0, LearningRateSchedule.constant());
    training.steps = 2;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          g[0] = step == 0 ? 2 * rank : 0;
          return g;
        };
    training.run(2);
    // After step 0: x = 1, -1; v = 0, 2. After step 1 rank 0 holds mean(x) - mu v.
    double expectedMean = 0;
    return new double[] {expectedMean - training.parameters(0)[0]};
  }

  private static SimulatedTraining training(
      String topology, String more, NetworkFaults faults, long seed) {
    String settings = "{\"topology\":\"%s\"%s}".formatted(topology, more);
    return new SimulatedTraining(new DecentralizedSgd.Provider(), settings, faults, seed);
  }

  /** Computes the iteration in double precision, for trainable elements only. */
  private static double[][] expected(
      Topology topology, double decayBefore, double decayAfter, SimulatedTraining training) {
    int workers = topology.size();
    double[][] x = new double[workers][training.trainable];
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < training.trainable; e++) {
        x[i][e] = 1 + e;
      }
    }
    for (int step = 0; step < training.steps; step++) {
      double[][] next = new double[workers][training.trainable];
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < training.trainable; e++) {
          double mixed = 0;
          for (int j = 0; j < workers; j++) {
            mixed += topology.at(step).weight(i, j) * x[j][e];
          }
          double gradient = x[i][e] - target(i, e) + decayBefore * x[i][e] + decayAfter * mixed;
          next[i][e] = mixed - RATE * gradient;
        }
      }
      x = next;
    }
    return x;
  }

  private static void assertFollows(double[][] expected, SimulatedTraining training) {
    for (int i = 0; i < expected.length; i++) {
      float[] head = java.util.Arrays.copyOf(training.parameters(i), training.trainable);
      double[] found = new double[head.length];
      for (int e = 0; e < head.length; e++) {
        found[e] = head[e];
      }
      assertArrayEquals(expected[i], found, CLOSE, "worker " + i);
      assertEquals(training.steps, training.replicas.get(i).updates());
    }
  }

  private static float[] filled(int rank) {
    float[] values = new float[7];
    java.util.Arrays.fill(values, (float) wave(rank, 8));
    return values;
  }

  private static double wave(int i, int workers) {
    return Math.cos(2 * Math.PI * i / workers);
  }

  private static double distance(java.util.function.IntToDoubleFunction x, int workers) {
    double mean = 0;
    for (int i = 0; i < workers; i++) {
      mean += x.applyAsDouble(i) / workers;
    }
    double sum = 0;
    for (int i = 0; i < workers; i++) {
      sum += Math.pow(x.applyAsDouble(i) - mean, 2);
    }
    return Math.sqrt(sum);
  }

  private static double target(int rank, int element) {
    return SimulatedTraining.target(rank, element);
  }
}
