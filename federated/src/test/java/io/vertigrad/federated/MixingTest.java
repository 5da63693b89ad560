package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.gram;
import static io.vertigrad.federated.RobustVectors.honestThenLiars;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class MixingTest {

  private static final GramMatrix ONES = gram(new float[][] {{1}, {1}, {1}, {1}, {1}, {1}, {1}});

  @Test
  void shouldPutEveryUpdateInOneBucketWhenUpdatesArePermuted() {
    double[][] matrix = new Mixing.Buckets(3, 11).matrix(ONES, 7, 4);

    assertEquals(3, matrix.length);
    for (int column = 0; column < 7; column++) {
      int at = column;
      assertEquals(1, Arrays.stream(matrix).filter(row -> row[at] != 0).count());
    }
    assertEquals(3, Arrays.stream(matrix[0]).filter(part -> part == 1.0 / 3).count());
    assertEquals(3, Arrays.stream(matrix[1]).filter(part -> part == 1.0 / 3).count());
    assertEquals(1, Arrays.stream(matrix[2]).filter(part -> part == 1).count());
  }

  @Test
  void shouldRepeatPermutationWhenSeedAndRoundAreEqual() {
    double[][] matrix = new Mixing.Buckets(2, 11).matrix(ONES, 7, 4);

    assertArrayEquals(matrix, new Mixing.Buckets(2, 11).matrix(ONES, 7, 4));
    assertFalse(Arrays.deepEquals(matrix, new Mixing.Buckets(2, 11).matrix(ONES, 7, 5)));
    assertFalse(Arrays.deepEquals(matrix, new Mixing.Buckets(2, 12).matrix(ONES, 7, 4)));
  }

  @Test
  void shouldAverageNearestWhenNeighboursAreMixed() {
    GramMatrix gram = gram(new float[][] {{0}, {1}, {3}, {100}});

    double[][] matrix = new Mixing.Neighbours(1).matrix(gram, 4, 0);

    double third = 1.0 / 3;
    assertArrayEquals(new double[] {third, third, third, 0}, matrix[0]);
    assertArrayEquals(new double[] {third, third, third, 0}, matrix[1]);
    assertArrayEquals(new double[] {third, third, third, 0}, matrix[2]);
    assertArrayEquals(new double[] {0, third, third, third}, matrix[3]);
  }

  @Test
  void shouldCountUpdateItselfWhenAnotherIsEqual() {
    double[][] matrix = new Mixing.Neighbours(6).matrix(ONES, 7, 0);

    for (int i = 0; i < 7; i++) {
      assertEquals(1, matrix[i][i]);
    }
  }

  @Test
  void shouldGiveProductsOfMixedVectorsWhenMatrixIsMixed() {
    float[][] vectors = honestThenLiars(5, 2, 40, 3, 1);
    float[] previous = honestThenLiars(1, 0, 40, 0, 2)[0];
    double[][] matrix = new Mixing.Buckets(2, 3).matrix(gram(vectors), 7, 0);
    float[][] mixed = new float[4][40];
    for (int i = 0; i < 4; i++) {
      new GramProducts().combine(vectors, matrix[i], 0, 40, mixed[i], 0);
    }

    GramMatrix actual = gram(vectors, previous).mixed(matrix);

    GramMatrix expected = gram(mixed, previous);
    assertEquals(5, actual.size());
    for (int i = 0; i < 5; i++) {
      for (int j = 0; j < 5; j++) {
        assertEquals(expected.product(i, j), actual.product(i, j), 1e-4);
        assertEquals(expected.squaredDistance(i, j), actual.squaredDistance(i, j), 1e-4);
      }
    }
  }

  @Test
  void shouldKeepCoefficientOfPreviousWhenUnmixed() {
    double[][] matrix = {{0.5, 0, 0.5}, {0, 1, 0}};

    double[] unmixed = Mixing.unmixed(new double[] {0.4, 0.5, 0.1}, matrix);

    assertArrayEquals(new double[] {0.2, 0.5, 0.2, 0.1}, unmixed, 1e-15);
  }

  @Test
  void shouldRefuseArgumentsWhenTheyHaveNoMeaning() {
    assertThrows(IllegalArgumentException.class, () -> new Mixing.Buckets(0, 1));
    assertThrows(IllegalArgumentException.class, () -> new Mixing.Neighbours(-1));
    assertThrows(IllegalArgumentException.class, () -> new GramMatrix(2, new double[4]));
  }
}
