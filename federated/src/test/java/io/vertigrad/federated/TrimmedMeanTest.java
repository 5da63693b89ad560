package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.distance;
import static io.vertigrad.federated.RobustVectors.honestThenLiars;
import static io.vertigrad.federated.RobustVectors.mean;
import static io.vertigrad.federated.RobustVectors.ofEqualElements;
import static io.vertigrad.federated.RobustVectors.reversed;
import static io.vertigrad.federated.RobustVectors.variance;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TrimmedMeanTest {

  private static final int WORKERS = 11;
  private static final int LIARS = 3;
  private static final int HONEST = WORKERS - LIARS;

  /** Flower, fedmedian_test: the median of 0.2, 1.0 and 0.5 is 0.5. */
  @Test
  void shouldGivePublishedMedianWhenThreeVectorsAreReduced() {
    float[] result = reduce(TrimmedMean.median(3), ofEqualElements(0.2, 1.0, 0.5));

    assertArrayEquals(new float[] {0.5f, 0.5f, 0.5f, 0.5f}, result);
  }

  /** Flower, fedtrimmedavg_test: a quarter of four values is dropped at each end. */
  @Test
  void shouldGivePublishedMeanWhenQuarterIsDropped() {
    float[][] vectors = {
      {0.5f, 0.5f, 0.5f, 0.5f}, {1, 0.2f, 0.5f, 1}, {0.2f, 0.5f, 1, 0.2f}, {0.5f, 1, 0.2f, 0.5f}
    };

    assertArrayEquals(new float[] {0.5f, 0.5f, 0.5f, 0.5f}, reduce(new TrimmedMean(4, 1), vectors));
  }

  /** Flower, fedtrimmedavg_test: of 0.5, 1, 2 and 100 the middle two have the mean 1.5. */
  @Test
  void shouldGivePublishedScalarWhenQuarterIsDropped() {
    float[][] vectors = {{0.5f}, {1}, {2}, {100}};

    assertArrayEquals(new float[] {1.5f}, reduce(new TrimmedMean(4, 1), vectors));
    assertArrayEquals(new float[] {1.5f}, reduce(TrimmedMean.median(4), vectors));
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "2, 0", "5, 1", "7, 3", "10, 2", "25, 5", "33, 16", "64, 10", "100, 7"})
  void shouldEqualSortedFormulaWhenVectorsAreReduced(int workers, int dropped) {
    float[][] vectors = honestThenLiars(workers, 0, 1_100, 0, workers);

    float[] result = reduce(new TrimmedMean(workers, dropped), vectors);

    for (int k = 0; k < 1_100; k++) {
      int at = k;
      double[] sorted = Arrays.stream(vectors).mapToDouble(v -> v[at]).sorted().toArray();
      double expected = Arrays.stream(sorted, dropped, workers - dropped).average().getAsDouble();
      assertEquals(expected, result[k], 1e-6);
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 1, 1e6, 1e30, 1e38})
  void shouldStayBetweenHonestValuesWhenSomeLie(double size) {
    for (int seed = 0; seed < 10; seed++) {
      float[][] vectors = honestThenLiars(HONEST, LIARS, 300, size, seed);

      assertBetweenHonest(vectors, reduce(new TrimmedMean(WORKERS, LIARS), vectors));
      assertBetweenHonest(vectors, reduce(TrimmedMean.median(WORKERS), vectors));
    }
  }

  private static void assertBetweenHonest(float[][] vectors, float[] result) {
    for (int k = 0; k < result.length; k++) {
      int at = k;
      double[] honest =
          Arrays.stream(vectors, 0, HONEST).mapToDouble(v -> v[at]).sorted().toArray();
      assertTrue(result[k] >= honest[0] && result[k] <= honest[HONEST - 1]);
    }
  }

  /** The bounds of (f, kappa)-robustness in Y. Allouah et al., Fixing by Mixing, 2023. */
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.5, 2, 10, 1e30})
  void shouldStayInPublishedBoundWhenSomeLie(double size) {
    double ratio = (double) LIARS / (WORKERS - 2 * LIARS);
    for (int seed = 0; seed < 20; seed++) {
      float[][] vectors = honestThenLiars(HONEST, LIARS, 50, size, seed);
      float[] honest = mean(vectors, HONEST);
      double variance = variance(vectors, HONEST);

      double trimmed = distance(reduce(new TrimmedMean(WORKERS, LIARS), vectors), honest);
      double median = distance(reduce(TrimmedMean.median(WORKERS), vectors), honest);

      assertTrue(trimmed * trimmed <= 6 * ratio * (1 + ratio) * variance);
      assertTrue(median * median <= 4 * (1 + ratio) * (1 + ratio) * variance);
    }
  }

  @Test
  void shouldGiveMeanWhenNothingIsDropped() {
    float[][] vectors = honestThenLiars(WORKERS, 0, 300, 0, 1);

    assertArrayEquals(mean(vectors, WORKERS), reduce(new TrimmedMean(WORKERS, 0), vectors), 1e-6f);
  }

  @Test
  void shouldGiveSameWhenVectorsArePermuted() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, 300, 1e30, 1);
    TrimmedMean rule = new TrimmedMean(WORKERS, LIARS);

    assertArrayEquals(reduce(rule, vectors), reduce(rule, reversed(vectors)));
  }

  @Test
  void shouldBeMedianWhenMoreIsDroppedThanThereIs() {
    float[][] vectors = honestThenLiars(5, 0, 300, 0, 1);

    assertArrayEquals(
        reduce(TrimmedMean.median(5), vectors), reduce(new TrimmedMean(5, 9), vectors));
  }

  @Test
  void shouldReduceMixedVectorsWhenMixingIsGiven() {
    float[][] vectors = honestThenLiars(HONEST, LIARS, 3_000, 4, 1);
    double[][] mixing = new Mixing.Buckets(2, 3).matrix(null, WORKERS, 0);
    float[][] mixed = new float[6][3_000];
    for (int i = 0; i < 6; i++) {
      new GramProducts().combine(vectors, mixing[i], 0, 3_000, mixed[i], 0);
    }
    float[] result = new float[3_000];

    new TrimmedMean(6, 2).reduce(vectors, mixing, 0, 3_000, result);

    assertArrayEquals(reduce(new TrimmedMean(6, 2), mixed), result, 1e-5f);
  }

  @Test
  void shouldLeaveOtherElementsWhenRangeIsReduced() {
    float[][] vectors = honestThenLiars(3, 0, 3_000, 0, 1);
    float[] result = new float[3_000];

    TrimmedMean.median(3).reduce(vectors, 100, 2_900, result);

    float[] whole = reduce(TrimmedMean.median(3), vectors);
    assertArrayEquals(
        Arrays.copyOfRange(whole, 100, 2_900), Arrays.copyOfRange(result, 100, 2_900));
    assertEquals(0, result[99]);
    assertEquals(0, result[2_900]);
  }

  /**
   * A network that sorts all inputs of zeros and ones sorts everything (Knuth 5.3.4, theorem Z).
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12})
  void shouldSortWhenInputsAreZerosAndOnes(int wires) {
    int inputs = 1 << wires;
    float[][] rows = new float[wires + 1][inputs];
    for (int input = 0; input < inputs; input++) {
      for (int wire = 0; wire < wires; wire++) {
        rows[wire][input] = input >> wire & 1;
      }
    }

    new SortingNetwork(wires, 0, wires).sort(rows, inputs);

    for (int input = 0; input < inputs; input++) {
      for (int wire = 0; wire < wires; wire++) {
        int expected = wire >= wires - Integer.bitCount(input) ? 1 : 0;
        assertEquals(expected, rows[wire][input]);
      }
    }
  }

  @Test
  void shouldCompareLessWhenOnlyMedianIsNeeded() {
    int all = new SortingNetwork(10, 0, 10).comparisons();

    assertTrue(new SortingNetwork(10, 4, 6).comparisons() < all);
  }

  @Test
  void shouldRefuseVectorsWhenTheirNumberIsAnother() {
    assertThrows(IllegalArgumentException.class, () -> new TrimmedMean(0, 0));
    assertThrows(
        IllegalArgumentException.class, () -> reduce(new TrimmedMean(3, 1), new float[4][1]));
  }

  private static float[] reduce(TrimmedMean rule, float[][] vectors) {
    float[] result = new float[vectors[0].length];
    rule.reduce(vectors, 0, result.length, result);
    return result;
  }
}
