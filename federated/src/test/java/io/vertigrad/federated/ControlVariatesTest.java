package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.strategy.LocalRule.Round;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** Three workers whose losses {@code h_i/2 (x - a_i)^2} have different minima and curvatures. */
class ControlVariatesTest {

  private static final double RATE = 0.1;
  private static final int STEPS = 5;
  private static final double[] MINIMA = {-3, 1, 4};
  private static final double[] CURVATURES = {0.5, 1, 2};

  private final ControlVariates[] rules = new ControlVariates[MINIMA.length];
  private float x;
  private long version;

  ControlVariatesTest() {
    Arrays.setAll(rules, rank -> new ControlVariates(RATE, 1, 1, 1));
  }

  @Test
  void shouldReachTheMinimumOfTheMeanLossWhenWorkersTakeSeveralSteps() {
    for (int round = 0; round < 60; round++) {
      takeRound();
    }

    double minimum = 0;
    for (int rank = 0; rank < MINIMA.length; rank++) {
      minimum += CURVATURES[rank] * MINIMA[rank] / DoubleStream.of(CURVATURES).sum();
    }
    assertEquals(minimum, x, 1e-5);
  }

  @Test
  void shouldKnowTheMeanVariateAgainWhenAWorkerHasLostItsOwn() {
    takeRound();
    takeRound();
    Arrays.fill(rules[1].memory(), 0);
    takeRound();

    takeRound();
    double[] own = new double[rules.length];
    Arrays.setAll(own, rank -> rules[rank].memory()[1]);
    takeRound();

    for (int rank = 0; rank < rules.length; rank++) {
      assertEquals((own[0] + own[1] + own[2]) / 3, rules[rank].memory()[0], 1e-5, "worker " + rank);
    }
  }

  @Test
  void shouldKeepTheMeanVariateWhenAVersionIsMissing() {
    takeRound();
    takeRound();
    float known = rules[0].memory()[0];

    version += 3;
    rules[0].begin(new Round(0, version, STEPS), new float[] {x});

    assertEquals(known, rules[0].memory()[0]);
  }

  private void takeRound() {
    double sum = 0;
    for (int rank = 0; rank < rules.length; rank++) {
      float[] y = {x};
      assertEquals(STEPS, rules[rank].begin(new Round(rank, version, STEPS), new float[] {x}));
      for (int step = 0; step < STEPS; step++) {
        float[] gradient = {(float) (CURVATURES[rank] * (y[0] - MINIMA[rank]))};
        rules[rank].adjust(y, gradient);
        y[0] -= (float) RATE * gradient[0];
      }
      float[] moved = {x - y[0]};
      rules[rank].finish(moved);
      sum += moved[0];
    }
    x -= (float) (sum / rules.length);
    version++;
  }
}
