package io.vertigrad.compute.dl4j.kernels;

/**
 * Mean and variance of every channel, gathered plane by plane.
 *
 * <p>Planes are merged as in Chan, Golub and LeVeque (1979), so that one pass over the data loses
 * no precision: {@code M2 = M2a + M2b + d^2 na nb / (na + nb)}, d the difference of their means.
 */
final class ChannelMoments {

  private final double[] means;
  private final double[] squares;
  private final double[] counts;

  ChannelMoments(int channels) {
    this.means = new double[channels];
    this.squares = new double[channels];
    this.counts = new double[channels];
  }

  /** Moments that are known, for normalising only. */
  static ChannelMoments of(float[] means, float[] variances) {
    ChannelMoments moments = new ChannelMoments(means.length);
    for (int c = 0; c < means.length; c++) {
      moments.means[c] = means[c];
      moments.squares[c] = variances[c];
      moments.counts[c] = 1;
    }
    return moments;
  }

  /**
   * Adds some values of one channel.
   *
   * @param square sum of their squared distances to their mean
   */
  void merge(int channel, double mean, double square, int count) {
    double before = counts[channel];
    double both = before + count;
    double distance = mean - means[channel];
    means[channel] += distance * count / both;
    squares[channel] += square + distance * distance * before * count / both;
    counts[channel] = both;
  }

  /** Values per channel. */
  double count() {
    return counts[0];
  }

  double mean(int channel) {
    return means[channel];
  }

  float[] means() {
    float[] values = new float[means.length];
    for (int c = 0; c < values.length; c++) {
      values[c] = (float) means[c];
    }
    return values;
  }

  /** {@code 1 / sqrt(v + epsilon)} with the biased variance. */
  double inverseDeviation(int channel, double epsilon) {
    return 1 / Math.sqrt(squares[channel] / counts[channel] + epsilon);
  }

  double unbiasedVariance(int channel) {
    return squares[channel] / Math.max(1, counts[channel] - 1);
  }
}
