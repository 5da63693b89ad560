package io.vertigrad.engine.dl4j.kernels;

/**
 * Accumulates mean and variance of every channel, part by part.
 *
 * <p>Parts are merged as in Chan, Golub and LeVeque (1979), so that one pass over the data loses no
 * precision: {@code M2 = M2a + M2b + d^2 na nb / (na + nb)}, where d is the difference of their
 * means.
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

  /** Returns moments with known values, for normalising only. */
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
   * Adds values of one channel that were summed in several places, with the same number of values
   * in each.
   *
   * @param run number of values in each place
   * @param origins value that was subtracted from each place's values before they were summed
   * @param sums sums of the differences from the origin, at the places from {@code first} to {@code
   *     end}
   * @param squares sums of the squared differences
   * @param step distance between two places of the channel
   */
  void merge(
      int channel,
      int run,
      float[] origins,
      float[] sums,
      float[] squares,
      int first,
      int end,
      int step) {
    double mean = 0;
    int places = (end - first + step - 1) / step;
    for (int i = first; i < end; i += step) {
      mean += origins[i] + (double) sums[i] / run;
    }
    mean /= places;
    double square = 0;
    for (int i = first; i < end; i += step) {
      double inPlace = (double) sums[i] / run;
      double distance = origins[i] + inPlace - mean;
      square += squares[i] - sums[i] * inPlace + run * distance * distance;
    }
    merge(channel, mean, Math.max(0, square), run * places);
  }

  private void merge(int channel, double mean, double square, int count) {
    double before = counts[channel];
    double both = before + count;
    double distance = mean - means[channel];
    means[channel] += distance * count / both;
    squares[channel] += square + distance * distance * before * count / both;
    counts[channel] = both;
  }

  /** Returns the number of values per channel. */
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

  /** Returns {@code 1 / sqrt(v + epsilon)} with the biased variance. */
  double inverseDeviation(int channel, double epsilon) {
    return 1 / Math.sqrt(squares[channel] / counts[channel] + epsilon);
  }

  double unbiasedVariance(int channel) {
    return squares[channel] / Math.max(1, counts[channel] - 1);
  }
}
