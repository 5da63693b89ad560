package io.vertigrad.internal.peer;

/**
 * Computes the mean of vectors and their distance from it in one pass. For equal vectors the mean
 * is exactly that vector and the distance is 0.
 */
final class ReplicaMean {

  private final float[] first;
  private final double[] sum;
  private double squares;
  private int count;

  ReplicaMean(int length) {
    first = new float[length];
    sum = new double[length];
  }

  void add(float[] vector) {
    if (count++ == 0) {
      System.arraycopy(vector, 0, first, 0, first.length);
      return;
    }
    for (int i = 0; i < sum.length; i++) {
      double difference = (double) vector[i] - first[i];
      sum[i] += difference;
      squares += difference * difference;
    }
  }

  int count() {
    return count;
  }

  float[] mean() {
    float[] mean = new float[first.length];
    for (int i = 0; i < mean.length; i++) {
      mean[i] = (float) (first[i] + sum[i] / count);
    }
    return mean;
  }

  /** Returns {@code sqrt(sum_i |x_i - mean|^2 / N)}. */
  double consensusDistance() {
    double ofMean = 0;
    for (double difference : sum) {
      ofMean += difference * difference;
    }
    return Math.sqrt(Math.max(0, (squares - ofMean / count) / count));
  }
}
