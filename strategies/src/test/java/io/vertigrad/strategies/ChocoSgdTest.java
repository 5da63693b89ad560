package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import io.vertigrad.collective.Topology;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ChocoSgdTest {

  private static final double RATE = 0.1;
  private static final int PIECE = 2;

  /** Koloskova et al. 2019, algorithm 2, with one copy of y for each worker. */
  @ParameterizedTest
  @CsvSource({
    "ring, 4, INT8, 0.8",
    "star, 3, INT4, 0.5",
    "ring, 1, SIGN, 0.3",
    "complete, 3, TOPK, 0.4"
  })
  void shouldFollowTheIterationByHand(String name, int workers, Kind kind, double gamma) {
    SimulatedTraining training = training(name, kind, gamma, NetworkFaults.FREQUENT, 3);
    training.steps = 15;
    training.run(workers);

    Topology topology = Topology.named(name, workers);
    int trainable = training.trainable;
    double[][] x = new double[workers][trainable];
    float[][] y = new float[workers][trainable];
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < trainable; e++) {
        x[i][e] = 1 + e;
        y[i][e] = 1 + e;
      }
    }
    for (int step = 0; step < training.steps; step++) {
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < trainable; e++) {
          x[i][e] -= RATE * (x[i][e] - SimulatedTraining.target(i, e));
        }
        for (int first = 0; first < trainable; first += PIECE) {
          float[] difference = new float[Math.min(PIECE, trainable - first)];
          for (int e = 0; e < difference.length; e++) {
            difference[e] = (float) (x[i][first + e] - y[i][first + e]);
          }
          training.compression.of(FloatBuffer.wrap(difference)).addTo(y[i], first, 1);
        }
      }
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < trainable; e++) {
          double mixed = 0;
          for (int j = 0; j < workers; j++) {
            mixed += topology.at(0).weight(i, j) * y[j][e];
          }
          x[i][e] += gamma * (mixed - y[i][e]);
        }
      }
    }
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < trainable; e++) {
        assertEquals(x[i][e], training.parameters(i)[e], 2e-2);
      }
    }
  }

  /** Without gradients the workers reach their mean, whatever compression leaves out. */
  @ParameterizedTest
  @ValueSource(strings = {"INT8", "INT4", "TOPK"})
  void shouldReachTheMeanOfAllWorkers(String kind) {
    SimulatedTraining training = training("ring", Kind.valueOf(kind), 0.3, NetworkFaults.NONE, 1);
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          java.util.Arrays.fill(g, step == 0 ? 10 * rank : 0);
          return g;
        };
    training.steps = 200;

    training.run(4);

    // One step of rate 0.1 with gradients 0, 10, 20 and 30 leaves 1, 0, -1 and -2.
    for (int rank = 0; rank < 4; rank++) {
      assertEquals(-0.5, training.parameters(rank)[0], 1e-2);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void shouldContinueWithTheOthersWhenANeighbourDies(long seed) {
    SimulatedTraining training = training("ring", Kind.INT8, 0.5, NetworkFaults.FREQUENT, seed);
    training.steps = 60;
    training.network.kill(20_000_000 + seed * 3_100_000, 1);
    training.network.regroup(70_000_000, 2, List.of(0, 2, 3));

    training.run(4);

    for (int rank : new int[] {0, 2, 3}) {
      assertEquals(60, training.replicas.get(rank).updates());
      assertEquals(SimulatedTraining.target(rank, 0), training.parameters(rank)[0], 2);
    }
  }

  @Test
  void shouldStartFromTheAverageOfTheOthersWhenJoiningLate() {
    SimulatedTraining training = training("complete", Kind.INT8, 0.5, NetworkFaults.NONE, 1);
    training.steps = 20;
    training.gradient = (rank, step, x) -> new float[x.length];
    training.workers = 3;
    training.network.start(0, training::train);
    training.network.start(1, training::train);
    training.network.start(2, training::train);
    training.network.regroup(0, 1, List.of(0, 1));
    training.network.regroup(2_500_000, 2, List.of(0, 1, 2));

    training.network.run();

    assertEquals(training.parameters(0)[0], training.parameters(2)[0], 1e-3);
  }

  @Test
  void shouldReturnItsState() {
    SimulatedTraining training = training("ring", Kind.INT8, 0.5, NetworkFaults.NONE, 1);
    training.run(3);
    float[] memory = training.strategies.get(1).memory();

    training.strategies.get(2).restore(memory);

    assertArrayEquals(memory, training.strategies.get(2).memory());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'topology': 'base-k' | topology is \"base-k\" with exchange.compression \"int8\", expected one",
        "'topology': 'exponential' | topology is \"exponential\" with exchange.compression",
        "'momentum': 'averaged' | momentum is not \"local\" with exchange.compression \"int8\"",
        "'conformance': 'published' | conformance is \"published\" with exchange.compression",
        "'consensusRate': 0 | consensusRate is 0, expected a number from 1.0E-6 to 1.0"
      })
  void shouldNameTheKeyWhenItDoesNotGoWithCompression(String setting, String expected) {
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject(
                "{\"strategy\": {\"name\": \"dpsgd\", %s}, \"exchange\": {\"compression\": \"int8\"}}"
                    .formatted(setting.replace('\'', '"'))));

    String message =
        assertThrows(
                SettingsException.class,
                () -> StrategyProviders.configure(job, getClass().getClassLoader()))
            .getMessage();

    assertTrue(message.startsWith("job.json: strategy." + expected.strip()), message);
  }

  private static SimulatedTraining training(
      String topology, Kind kind, double gamma, NetworkFaults faults, long seed) {
    SimulatedTraining training =
        new SimulatedTraining(
            new DecentralizedSgd.Provider(),
            "{\"topology\": \"%s\", \"consensusRate\": %s}".formatted(topology, gamma),
            faults,
            seed);
    training.compression = new Compression(kind, 0.5);
    training.pieceElements = PIECE;
    return training;
  }
}
