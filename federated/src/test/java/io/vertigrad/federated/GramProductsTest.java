package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.honestThenLiars;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GramProductsTest {

  @ParameterizedTest
  @CsvSource({"0, 10", "3, 4096", "0, 4096", "5, 9000", "0, 20011"})
  void shouldEqualFormulaWhenRangeIsAnyLength(int from, int to) {
    float[][] vectors = honestThenLiars(4, 1, 20_011, 10, 1);
    double[] products = new double[GramMatrix.elements(5)];

    new GramProducts().add(vectors, from, to, products);

    GramMatrix gram = new GramMatrix(5, products);
    for (int i = 0; i < 5; i++) {
      for (int j = 0; j < 5; j++) {
        double norms = Math.sqrt(dot(vectors, i, i, from, to) * dot(vectors, j, j, from, to));
        assertEquals(dot(vectors, i, j, from, to), gram.product(i, j), 1e-6 * norms);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {1e19, 1e30, 3e37})
  void shouldNotOverflowWhenVectorsAreHuge(double size) {
    float[][] vectors = honestThenLiars(2, 2, 10_000, size, 2);
    double[] products = new double[GramMatrix.elements(4)];
    double[] squares = new double[4];

    new GramProducts().add(vectors, 0, 10_000, products);
    new GramProducts().addSquaredDistances(vectors, vectors[0], 0, 10_000, squares);

    GramMatrix gram = new GramMatrix(4, products);
    for (int i = 0; i < 4; i++) {
      double own = dot(vectors, i, i, 0, 10_000);
      assertEquals(own, gram.product(i, i), 1e-6 * own);
      assertTrue(Double.isFinite(squares[i]));
    }
    assertEquals(0, squares[0]);
    assertEquals(gram.product(3, 3), squares[3], 1e-6 * squares[3]);
  }

  @Test
  void shouldAddToSumsWhenPartsAreComputedApart() {
    float[][] vectors = honestThenLiars(3, 0, 9_000, 0, 3);
    double[] whole = new double[6];
    double[] parts = new double[6];
    GramProducts products = new GramProducts();

    products.add(vectors, 0, 9_000, whole);
    products.add(vectors, 0, 4_500, parts);
    products.add(vectors, 4_500, 9_000, parts);

    assertArrayEquals(whole, parts, 1e-6 * whole[0]);
  }

  @Test
  void shouldRepeatBitsWhenVectorsAreEqual() {
    float[][] vectors = honestThenLiars(3, 0, 9_000, 0, 3);
    double[] once = new double[6];
    double[] again = new double[6];
    GramProducts products = new GramProducts();

    products.add(vectors, 0, 9_000, once);
    products.add(vectors, 0, 9_000, again);

    assertArrayEquals(once, again);
  }

  @Test
  void shouldEqualFormulaWhenVectorsAreCombined() {
    float[][] vectors = honestThenLiars(2, 1, 9_000, 1e30, 4);
    double[] coefficients = {0.25, 0, 1e-30};
    float[] result = new float[9_010];

    new GramProducts().combine(vectors, coefficients, 100, 8_900, result, 10);

    for (int k = 0; k < 8_900; k++) {
      double expected = 0.25 * vectors[0][100 + k] + 1e-30 * vectors[2][100 + k];
      assertEquals((float) expected, result[10 + k]);
    }
    assertEquals(0, result[9]);
    assertEquals(0, result[8_910]);
  }

  private static double dot(float[][] vectors, int i, int j, int from, int to) {
    double sum = 0;
    for (int k = from; k < to; k++) {
      sum += (double) vectors[i][k] * vectors[j][k];
    }
    return sum;
  }
}
