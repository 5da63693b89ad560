package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GossipTest {

  @Test
  void shouldBePlainSgdWhenAlone() {
    SimulatedTraining training = training(NetworkFaults.NONE, 1).run(1);

    double x = 1;
    for (int step = 0; step < 10; step++) {
      x -= 0.1 * (x - SimulatedTraining.target(0, 0));
    }
    assertEquals(x, training.parameters(0)[0], 1e-5);
  }

  @ParameterizedTest
  @CsvSource({"2, 1", "3, 2", "4, 3", "5, 4", "8, 5", "8, 6", "8, 7"})
  void shouldKeepTheMeanAndComeTogether(int workers, long seed) {
    SimulatedTraining training = training(NetworkFaults.FREQUENT, seed);
    training.steps = 60;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          g[0] = step == 0 ? rank : 0;
          return g;
        };

    training.run(workers);

    // Each worker takes one step of 0.1 * rank; averages do not change the mean.
    double expected = 1 - 0.1 * (workers - 1) / 2;
    double mean = 0;
    for (int i = 0; i < workers; i++) {
      mean += training.parameters(i)[0] / workers;
      assertEquals(60, training.replicas.get(i).updates());
    }
    assertEquals(expected, mean, 1e-5);
    assertEquals(mean, training.parameters(0)[0], 0.02);
    assertEquals(mean, training.parameters(workers - 1)[0], 0.02);
  }

  @Test
  void shouldContinuePassiveWorkersWhenAnActiveOneIsSlow() {
    SimulatedTraining training = training(NetworkFaults.NONE, 1);
    training.steps = 30;
    training.extraNanos = (rank, step) -> rank == 0 ? 50_000_000 : 0;

    training.run(2);

    assertTrue(training.finishedNanos.get(1) < 100_000_000, training.finishedNanos.toString());
    assertTrue(training.finishedNanos.get(0) > 1_500_000_000, training.finishedNanos.toString());
  }

  @Test
  void shouldComputeTheSpectralGapInClosedForm() {
    // Two workers agree after one exchange.
    assertEquals(1, gap(2), 1e-9);
    // With four workers E[W] = I - L / 8 for the square, whose Laplacian has the eigenvalues 2, 2
    // and 4.
    assertEquals(1 - 0.75 * 0.75, gap(4), 1e-9);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void shouldContinueWhenAWorkerDies(long seed) {
    SimulatedTraining training = training(NetworkFaults.FREQUENT, seed);
    training.steps = 50;
    training.network.kill(20_000_000 + seed * 5_700_000, 1);
    training.network.regroup(150_000_000, 2, List.of(0, 2, 3));

    training.run(4);

    for (int rank : new int[] {0, 2, 3}) {
      assertTrue(training.replicas.get(rank).updates() >= 50);
    }
  }

  private static double gap(int workers) {
    return training(NetworkFaults.NONE, 1).run(workers).strategies.get(0).spectralGap();
  }

  private static SimulatedTraining training(NetworkFaults faults, long seed) {
    return new SimulatedTraining(new Gossip.Provider(), "{}", faults, seed);
  }
}
