package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests slow exchanges, gradients that are not finite, and workers that join and leave. */
class DecentralizedSgdFailureTest {

  private static final double RATE = 0.1;
  private static final double CLOSE = 1e-4;

  @Test
  void shouldOverlapTheExchangeWithTheGradientWhenItIsShorter() {
    SimulatedTraining training = training("ring", new NetworkFaults(0, 0, 400_000, 0), 1);
    training.computeNanos = 1_000_000;

    training.run(4);

    assertTrue(training.strategies.get(1).timing().hiddenShare() > 0.99);
    assertEquals(0, training.strategies.get(1).timing().waitedNanos());
  }

  @Test
  void shouldWaitForTheRestOfTheSwapWhenItTakesLonger() {
    SimulatedTraining training = training("ring", new NetworkFaults(0, 0, 2_000_000, 0), 1);
    training.computeNanos = 1_000_000;

    training.run(2);

    // An exchange takes 2 ms and computing 1 ms, so about half is hidden; one worker may be ahead.
    assertEquals(0.5, training.strategies.get(1).timing().hiddenShare(), 0.1);
  }

  @Test
  void shouldStillMixWhenAGradientIsNotFinite() {
    SimulatedTraining training = training("complete", NetworkFaults.NONE, 1);
    training.steps = 2;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          Arrays.fill(g, rank == 0 ? Float.NaN : step == 0 ? 1 : 0);
          return g;
        };

    training.run(2);

    assertEquals(1 - RATE / 2, training.parameters(0)[0], CLOSE);
    assertEquals(1 - RATE / 2, training.parameters(1)[0], CLOSE);
    assertEquals(2, training.strategies.get(0).timing().skipped());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void shouldContinueWithTheOthersWhenANeighbourDies(long seed) {
    SimulatedTraining training = training("ring", NetworkFaults.FREQUENT, seed);
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
    SimulatedTraining training = training("complete", NetworkFaults.NONE, 1);
    training.steps = 5;
    training.gradient = (rank, step, x) -> new float[x.length];
    training.workers = 3;
    training.network.start(0, training::train);
    training.network.start(1, training::train);
    training.network.start(2, training::train);
    training.network.regroup(0, 1, List.of(0, 1));
    training.network.regroup(2_500_000, 2, List.of(0, 1, 2));

    training.network.run();

    assertEquals(training.parameters(0)[0], training.parameters(2)[0], CLOSE);
    // Statistics of the others had changed by 0.25 and 0.5 per step when this worker joined.
    float initial = training.initial(0)[6];
    float drift = initial - training.parameters(2)[6];
    assertTrue(drift > 0.75f && training.replicas.get(2).updates() == 5, "drift " + drift);
  }

  private static SimulatedTraining training(String topology, NetworkFaults faults, long seed) {
    String settings = "{\"topology\":\"%s\"}".formatted(topology);
    return new SimulatedTraining(new DecentralizedSgd.Provider(), settings, faults, seed);
  }
}
