package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.aggregate;
import static io.vertigrad.federated.RobustVectors.distance;
import static io.vertigrad.federated.RobustVectors.gram;
import static io.vertigrad.federated.RobustVectors.honestThenLiars;
import static io.vertigrad.federated.RobustVectors.mean;
import static io.vertigrad.federated.RobustVectors.ofEqualElements;
import static io.vertigrad.federated.RobustVectors.reversed;
import static io.vertigrad.federated.RobustVectors.variance;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.federated.GramRule.CentredClipping;
import io.vertigrad.federated.GramRule.GeometricMedian;
import io.vertigrad.federated.GramRule.Krum;
import io.vertigrad.federated.GramRule.Mean;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GramRuleTest {

  private static final int WORKERS = 11;
  private static final int LIARS = 3;
  private static final int HONEST = WORKERS - LIARS;
  private static final int LENGTH = 50;

  /** Flower, krum_test: of 0.2, 0.7 and 1.0 with one liar Krum takes 0.7. */
  @Test
  void shouldTakePublishedVectorWhenKrumChooses() {
    float[] result = aggregate(new Krum(1, 1), Mixing.NONE, ofEqualElements(0.2, 0.7, 1.0));

    assertArrayEquals(new float[] {0.7f, 0.7f, 0.7f, 0.7f}, result);
  }

  /** Flower, multikrum_test: of 0.2, 0.5 and 1.0 with one liar the two kept have the mean 0.35. */
  @Test
  void shouldAveragePublishedVectorsWhenMultiKrumKeepsTwo() {
    float[] result = aggregate(new Krum(1, 2), Mixing.NONE, ofEqualElements(0.2, 0.5, 1.0));

    assertArrayEquals(new float[] {0.35f, 0.35f, 0.35f, 0.35f}, result, 1e-7f);
  }

  @Test
  void shouldScoreNearestOthersWhenKrumHasEnoughVectors() {
    // n - f - 2 = 2 nearest: scores 1 + 9, 1 + 4, 4 + 9, 100 + 81 and more for the liars.
    float[][] vectors = {{0}, {1}, {3}, {10}, {-20}};

    double[] coefficients =
        new Krum(1, 1).coefficients(gram(vectors), new double[] {1, 1, 1, 1, 1});

    assertArrayEquals(new double[] {0, 1, 0, 0, 0}, coefficients);
  }

  @Test
  void shouldKeepAllButLiarsWhenMultiKrumHasNoNumber() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, 1e30, 1);

    float[] result = aggregate(new Krum(LIARS, 0), Mixing.NONE, vectors);

    assertArrayEquals(mean(vectors, HONEST), result, 1e-6f);
  }

  @Test
  void shouldWeightBySamplesWhenMeanIsTaken() {
    double[] coefficients =
        new Mean().coefficients(gram(new float[][] {{1}, {2}}), new double[] {3, 1});

    assertArrayEquals(new double[] {0.75, 0.25}, coefficients);
  }

  /** The point of least distance from (0,0), (1,0), (0,1) has both coordinates (3 - sqrt 3) / 6. */
  @Test
  void shouldReachFermatPointWhenMedianOfTriangleIsTaken() {
    float[] result =
        aggregate(new GeometricMedian(), Mixing.NONE, new float[][] {{0, 0}, {1, 0}, {0, 1}});

    float expected = (float) ((3 - Math.sqrt(3)) / 6);
    assertArrayEquals(new float[] {expected, expected}, result, 1e-6f);
  }

  @Test
  void shouldTakeHeaviestVectorWhenItHasHalfOfMediansWeight() {
    double[] coefficients =
        new GeometricMedian()
            .coefficients(gram(new float[][] {{5, 0}, {1, 1}, {0, 9}}), new double[] {6, 2, 2});

    assertEquals(1, coefficients[0], 1e-5);
  }

  @Test
  void shouldFollowFormulaWhenVectorsAreClipped() {
    float[][] vectors = {{3, 4}, {0.3f, 0.4f}, {-6, -8}};
    float[] previous = {0, 0};

    float[] result = aggregate(new CentredClipping(1, 1), Mixing.NONE, vectors, previous);

    // Clipped to (0.6, 0.8), kept, clipped to (-0.6, -0.8).
    assertArrayEquals(new float[] {0.1f, 0.4f / 3}, result, 1e-7f);
  }

  @Test
  void shouldFollowFormulaWhenClippingIsRepeated() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, 30, 7);
    float[] previous = vectors[1].clone();
    double[] expected = new double[LENGTH];
    for (int k = 0; k < LENGTH; k++) {
      expected[k] = previous[k];
    }
    for (int step = 0; step < 4; step++) {
      double[] moved = new double[LENGTH];
      for (float[] vector : vectors) {
        double squares = 0;
        for (int k = 0; k < LENGTH; k++) {
          squares += (vector[k] - expected[k]) * (vector[k] - expected[k]);
        }
        double factor = Math.min(1, 2 / Math.sqrt(squares)) / WORKERS;
        for (int k = 0; k < LENGTH; k++) {
          moved[k] += factor * (vector[k] - expected[k]);
        }
      }
      for (int k = 0; k < LENGTH; k++) {
        expected[k] += moved[k];
      }
    }

    float[] result = aggregate(new CentredClipping(2, 4), Mixing.NONE, vectors, previous);

    for (int k = 0; k < LENGTH; k++) {
      assertEquals(expected[k], result[k], 1e-5);
    }
  }

  @Test
  void shouldGiveSameCoefficientsWhenOnlyDistancesAreKnown() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, 30, 8);
    float[] previous = vectors[2].clone();
    double[] squares = new double[WORKERS];
    new GramProducts().addSquaredDistances(vectors, previous, 0, LENGTH, squares);
    CentredClipping rule = new CentredClipping(2, 1);

    double[] coefficients = rule.coefficients(squares);

    double[] full = rule.coefficients(gram(vectors, previous), new double[WORKERS]);
    assertArrayEquals(full, coefficients, 1e-9);
  }

  /**
   * The bounds of (f, kappa)-robustness in Y. Allouah et al., Fixing by Mixing, 2023: the squared
   * distance from the honest mean is at most kappa times the honest variance.
   */
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.5, 2, 10, 1e6, 1e30})
  void shouldStayInPublishedBoundWhenSomeLie(double size) {
    double ratio = (double) LIARS / (WORKERS - 2 * LIARS);
    double krum = 6 * (1 + ratio);
    double median = 4 * (1 + ratio) * (1 + ratio);
    for (int seed = 0; seed < 20; seed++) {
      float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, size, seed);

      assertInBound(new Krum(LIARS, 1), Mixing.NONE, vectors, HONEST, krum);
      assertInBound(new Krum(LIARS, 0), Mixing.NONE, vectors, HONEST, krum);
      assertInBound(new GeometricMedian(), Mixing.NONE, vectors, HONEST, median);
    }
  }

  /** Lemma 1 of the same paper: after the mixing, kappa is 8 f / (n - f) (kappa + 1). */
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.5, 2, 10, 1e6, 1e30})
  void shouldStayInPublishedBoundWhenNeighboursAreMixed(double size) {
    double ratio = (double) LIARS / (WORKERS - 2 * LIARS);
    double krum = 6 * (1 + ratio);
    double median = 4 * (1 + ratio) * (1 + ratio);
    double factor = 8.0 * LIARS / HONEST;
    Mixing mixing = new Mixing.Neighbours(LIARS);
    for (int seed = 0; seed < 20; seed++) {
      float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, size, seed);

      assertInBound(new Krum(LIARS, 1), mixing, vectors, HONEST, factor * (krum + 1));
      assertInBound(new GeometricMedian(), mixing, vectors, HONEST, factor * (median + 1));
    }
  }

  @Test
  void shouldStayInPublishedBoundWhenNobodyLies() {
    for (int seed = 0; seed < 20; seed++) {
      float[][] vectors = honestThenLiars(WORKERS, 0, LENGTH, 0, seed);
      float[] mean = mean(vectors, WORKERS);

      assertInBound(new Krum(0, 1), Mixing.NONE, vectors, WORKERS, 6);
      assertInBound(new GeometricMedian(), Mixing.NONE, vectors, WORKERS, 4);
      assertArrayEquals(mean, aggregate(new Krum(0, 0), Mixing.NONE, vectors), 1e-6f);
      assertArrayEquals(mean, aggregate(new Krum(0, 1), new Mixing.Neighbours(0), vectors), 1e-6f);
      assertArrayEquals(mean, aggregate(new CentredClipping(1e9, 1), Mixing.NONE, vectors), 1e-6f);
    }
  }

  private static void assertInBound(
      GramRule rule, Mixing mixing, float[][] vectors, int honest, double kappa) {
    double distance = distance(aggregate(rule, mixing, vectors), mean(vectors, honest));
    double bound = Math.sqrt(kappa * variance(vectors, honest));
    assertTrue(
        distance <= bound,
        () -> "%s after %s: distance %s, bound %s".formatted(rule, mixing, distance, bound));
  }

  @ParameterizedTest
  @ValueSource(doubles = {1, 1e6, 1e30, 1e38})
  void shouldMoveByLiarsShareOfRadiusAtMostWhenSomeLie(double size) {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, size, 3);
    float[] previous = mean(vectors, HONEST);
    double radius = 1.5;
    float[][] others = vectors.clone();
    for (int i = HONEST; i < WORKERS; i++) {
      others[i] = previous;
    }
    CentredClipping rule = new CentredClipping(radius, 1);

    float[] result = aggregate(rule, Mixing.NONE, vectors, previous);

    float[] without = aggregate(rule, Mixing.NONE, others, previous);
    assertTrue(distance(result, without) <= radius * LIARS / WORKERS + 1e-5);
    assertTrue(distance(result, previous) <= radius + 1e-5);
  }

  @Test
  void shouldStayNearPreviousWhenBucketsHaveHugeLiars() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, 1e30, 4);
    float[] previous = mean(vectors, HONEST);

    for (int steps = 1; steps < 5; steps++) {
      float[] result =
          aggregate(new CentredClipping(1, steps), new Mixing.Buckets(2, 5), vectors, previous);

      assertTrue(distance(result, previous) <= steps + 1e-3);
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.1, 3, 1e30})
  void shouldGiveSameWhenVectorsArePermuted(double size) {
    float[][] vectors = honestThenLiars(HONEST, LIARS, LENGTH, size, 5);

    for (GramRule rule : robustRules()) {
      for (Mixing mixing : List.of(Mixing.NONE, new Mixing.Neighbours(LIARS))) {
        float[] result = aggregate(rule, mixing, vectors);

        assertArrayEquals(
            result, aggregate(rule, mixing, reversed(vectors)), 1e-5f, rule + " " + mixing);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 10})
  void shouldGiveVectorWhenAllAreEqual(int workers) {
    float[] one = honestThenLiars(1, 0, LENGTH, 0, 6)[0];
    float[][] vectors = new float[workers][];
    Arrays.fill(vectors, one);

    for (GramRule rule : robustRules()) {
      for (Mixing mixing :
          List.of(Mixing.NONE, new Mixing.Neighbours(1), new Mixing.Buckets(2, 1))) {
        assertArrayEquals(one, aggregate(rule, mixing, vectors), 1e-6f, rule + " " + mixing);
      }
    }
  }

  @Test
  void shouldRefuseArgumentsWhenTheyHaveNoMeaning() {
    assertThrows(IllegalArgumentException.class, () -> new Krum(-1, 0));
    assertThrows(IllegalArgumentException.class, () -> new GeometricMedian(0, 1));
    assertThrows(IllegalArgumentException.class, () -> new CentredClipping(Double.NaN, 1));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new MixedRule(new Mean(), Mixing.NONE)
                .coefficients(gram(new float[][] {{1}, {2}}), new double[1], 0));
  }

  private static List<GramRule> robustRules() {
    return List.of(
        new Krum(LIARS, 1), new Krum(LIARS, 0), new GeometricMedian(), new CentredClipping(100, 3));
  }
}
