package io.vertigrad.federated;

import java.util.Arrays;
import java.util.Random;

/** Vectors for the tests of robust rules, and what a test computes from them by formula. */
final class RobustVectors {

  private RobustVectors() {}

  /** Returns vectors of equal elements, like those of Flower's tests. */
  static float[][] ofEqualElements(double... values) {
    float[][] vectors = new float[values.length][4];
    for (int i = 0; i < values.length; i++) {
      Arrays.fill(vectors[i], (float) values[i]);
    }
    return vectors;
  }

  /** Returns vectors around a common one, and after them liars of a size. */
  static float[][] honestThenLiars(int honest, int liars, int length, double size, long seed) {
    Random random = new Random(seed);
    double[] common = random.doubles(length, -1, 1).toArray();
    float[][] vectors = new float[honest + liars][length];
    for (int i = 0; i < vectors.length; i++) {
      for (int k = 0; k < length; k++) {
        double own = random.nextGaussian();
        vectors[i][k] = (float) (i < honest ? common[k] + 0.5 * own : size * own);
      }
    }
    return vectors;
  }

  /** Returns the inner products of the vectors, and of others after them. */
  static GramMatrix gram(float[][] vectors, float[]... others) {
    float[][] all = Arrays.copyOf(vectors, vectors.length + others.length);
    System.arraycopy(others, 0, all, vectors.length, others.length);
    double[] products = new double[GramMatrix.elements(all.length)];
    new GramProducts().add(all, 0, all[0].length, products);
    return new GramMatrix(all.length, products);
  }

  /** Returns the aggregate of vectors with equal weights; the previous aggregate is 0. */
  static float[] aggregate(GramRule rule, Mixing mixing, float[][] vectors) {
    return aggregate(rule, mixing, vectors, new float[vectors[0].length]);
  }

  static float[] aggregate(GramRule rule, Mixing mixing, float[][] vectors, float[] previous) {
    float[][] all = vectors;
    if (rule.usesPrevious()) {
      all = Arrays.copyOf(vectors, vectors.length + 1);
      all[vectors.length] = previous;
    }
    double[] equal = new double[vectors.length];
    Arrays.fill(equal, 1);
    double[] coefficients = new MixedRule(rule, mixing).coefficients(gram(all), equal, 0);
    float[] result = new float[vectors[0].length];
    new GramProducts().combine(all, coefficients, 0, result.length, result, 0);
    return result;
  }

  /** Returns the mean of the first vectors. */
  static float[] mean(float[][] vectors, int count) {
    float[] mean = new float[vectors[0].length];
    for (int k = 0; k < mean.length; k++) {
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += vectors[i][k];
      }
      mean[k] = (float) (sum / count);
    }
    return mean;
  }

  static double distance(float[] a, float[] b) {
    double squares = 0;
    for (int k = 0; k < a.length; k++) {
      squares += ((double) a[k] - b[k]) * ((double) a[k] - b[k]);
    }
    return Math.sqrt(squares);
  }

  /** Returns the mean squared distance of the first vectors from their mean. */
  static double variance(float[][] vectors, int count) {
    float[] mean = mean(vectors, count);
    double sum = 0;
    for (int i = 0; i < count; i++) {
      double distance = distance(vectors[i], mean);
      sum += distance * distance;
    }
    return sum / count;
  }

  /** Returns the vectors in another order. */
  static float[][] reversed(float[][] vectors) {
    float[][] reversed = new float[vectors.length][];
    for (int i = 0; i < vectors.length; i++) {
      reversed[i] = vectors[vectors.length - 1 - i];
    }
    return reversed;
  }
}
