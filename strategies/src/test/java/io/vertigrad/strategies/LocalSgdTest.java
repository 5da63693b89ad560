package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LocalSgdTest {

  private static final double CLOSE = 1e-4;

  @ParameterizedTest
  @CsvSource({"1, 5, 10", "2, 5, 10", "4, 3, 10", "3, 1, 10", "4, 20, 10"})
  void shouldFollowTheIterationByHand(int workers, int every, int steps) {
    SimulatedTraining training = training(every, NetworkFaults.FREQUENT, 7);
    training.steps = steps;
    training.run(workers);

    double[] x = new double[workers];
    java.util.Arrays.fill(x, 1);
    for (int step = 1; step <= steps; step++) {
      double mean = 0;
      for (int i = 0; i < workers; i++) {
        x[i] -= 0.1 * (x[i] - SimulatedTraining.target(i, 0));
        mean += x[i] / workers;
      }
      if (step % every == 0) {
        java.util.Arrays.fill(x, mean);
      }
    }
    for (int i = 0; i < workers; i++) {
      assertEquals(x[i], training.parameters(i)[0], CLOSE);
    }
  }

  /** Differences are compressed, so that what is left out comes with the next ones. */
  @ParameterizedTest
  @ValueSource(strings = {"INT8", "INT4"})
  void shouldStayCloseAndAgreeWhenDifferencesAreCompressed(String kind) {
    SimulatedTraining exact = training(4, NetworkFaults.NONE, 1);
    exact.steps = 40;
    exact.run(3);
    SimulatedTraining training = training(4, NetworkFaults.FREQUENT, 1);
    training.steps = 40;
    training.compression = new Compression(Compression.Kind.valueOf(kind), 0.1);

    training.run(3);

    assertArrayEquals(training.parameters(0), training.parameters(2));
    assertArrayEquals(exact.parameters(0), training.parameters(0), 0.1f);
    assertTrue(training.network.bytes() < exact.network.bytes());
  }

  @Test
  void shouldAgreeOnStatisticsTooAfterAnAverage() {
    SimulatedTraining training = training(5, NetworkFaults.NONE, 1).run(3);

    assertArrayEquals(training.parameters(0), training.parameters(2));
    assertEquals(7 - 10 * 0.25 * 2, training.parameters(0)[6], CLOSE);
  }

  @Test
  void shouldDifferBetweenAverages() {
    SimulatedTraining training = training(6, NetworkFaults.NONE, 1).run(3);

    assertNotEquals(training.parameters(0)[0], training.parameters(2)[0]);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void shouldContinueWhenAWorkerDies(long seed) {
    SimulatedTraining training = training(4, NetworkFaults.FREQUENT, seed);
    training.steps = 40;
    training.network.kill(30_000_000 + seed * 5_700_000, 0);
    training.network.regroup(120_000_000, 2, List.of(1, 2));

    training.run(3);

    assertArrayEquals(training.parameters(1), training.parameters(2));
    assertEquals(40, training.replicas.get(1).updates());
  }

  private static SimulatedTraining training(int every, NetworkFaults faults, long seed) {
    return new SimulatedTraining(
        new LocalSgd.Provider(), "{\"every\":%d}".formatted(every), faults, seed);
  }
}
