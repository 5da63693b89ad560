package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Views {@code [samples, channels, height, width]} as rows, one for each sample with all its
 * channels, and computes the sums of {@link BatchNorm}.
 *
 * <p>A row is cut into pieces that fit into the first-level cache. Each piece is processed through
 * all samples, with one sum per element. So loops are as long as a piece even for small channels,
 * and the compiler vectorises them. The order of every sum is fixed, so results repeat bit for bit.
 */
final class ChannelRows {

  /** Number of elements of a piece: 8 KiB; five pieces must fit into the cache. */
  private static final int PIECE = 2048;

  /**
   * Number of samples that are summed in single precision before the sum continues in double
   * precision.
   */
  private static final int RUN = 128;

  private final int samples;
  private final int channels;
  private final int area;
  private final int row;
  private final Scratch scratch;

  /**
   * @param samples number of rows
   * @param area number of elements of one channel in a row
   * @param row number of elements of a row
   */
  private ChannelRows(int samples, int channels, int area, int row, Scratch scratch) {
    this.samples = samples;
    this.channels = channels;
    this.area = area;
    this.row = row;
    this.scratch = scratch;
  }

  /** Returns the rows of an array of rank 4, or of rank 2 with channels of one element. */
  static ChannelRows of(INDArray array, Scratch scratch) {
    int samples = (int) array.size(0);
    int channels = (int) array.size(1);
    int area = array.rank() == 4 ? (int) (array.size(2) * array.size(3)) : 1;
    if (ImageLayout.of(array) == ImageLayout.CHANNELS_LAST) {
      int pixels = pixels(area, channels);
      return new ChannelRows(samples * (area / pixels), channels, 1, pixels * channels, scratch);
    }
    return new ChannelRows(samples, channels, area, channels * area, scratch);
  }

  /** Returns the largest number of pixels that divides a sample's and fits into a piece. */
  private static int pixels(int area, int channels) {
    int pixels = Math.max(1, Math.min(area, PIECE / channels));
    while (area % pixels != 0) {
      pixels--;
    }
    return pixels;
  }

  ChannelMoments moments(FloatBuffer x) {
    ChannelMoments moments = new ChannelMoments(channels);
    for (int first = 0; first < row; first += PIECE) {
      int count = Math.min(PIECE, row - first);
      for (int from = 0; from < samples; from += RUN) {
        mergeRun(x, first, count, from, Math.min(RUN, samples - from), moments);
      }
    }
    return moments;
  }

  /** Sums the differences from the run's first sample. They are small, so the sums stay precise. */
  private void mergeRun(
      FloatBuffer x, int first, int count, int from, int run, ChannelMoments moments) {
    float[] origin = scratch.floats(0, PIECE);
    float[] piece = scratch.floats(1, PIECE);
    float[] sums = cleared(2);
    float[] squares = cleared(3);
    x.get(from * row + first, origin, 0, count);
    for (int n = from + 1; n < from + run; n++) {
      x.get(n * row + first, piece, 0, count);
      Loops.addDifference(sums, piece, origin, count);
      Loops.addSquaredDifference(squares, piece, origin, count);
    }
    if (interleaved()) {
      int places = Math.min(channels, count);
      for (int at = 0; at < places; at++) {
        int channel = (first + at) % channels;
        moments.merge(channel, run, origin, sums, squares, at, count, channels);
      }
      return;
    }
    for (int at = 0; at < count; ) {
      int channel = (first + at) / area;
      int end = Math.min(count, (channel + 1) * area - first);
      moments.merge(channel, run, origin, sums, squares, at, end, 1);
      at = end;
    }
  }

  /**
   * Computes {@code y = scale x + offset} channel by channel.
   *
   * @param rectified whether negative results become 0
   */
  void scale(FloatBuffer x, float[] scale, float[] offset, boolean rectified, FloatBuffer y) {
    float[] piece = scratch.floats(0, PIECE);
    for (int first = 0; first < row; first += PIECE) {
      int count = Math.min(PIECE, row - first);
      float[] scales = spread(1, scale, first, count);
      float[] offsets = spread(2, offset, first, count);
      for (int n = 0; n < samples; n++) {
        x.get(n * row + first, piece, 0, count);
        Loops.scale(piece, scales, offsets, count);
        if (rectified) {
          Loops.rectify(piece, count);
        }
        y.put(n * row + first, piece, 0, count);
      }
    }
  }

  /** Returns for every channel the sums of {@code dy} and of {@code dy (x - mean)}. */
  double[][] gradientSums(FloatBuffer x, FloatBuffer dy, float[] means) {
    double[][] totals = new double[2][channels];
    float[] piece = scratch.floats(0, PIECE);
    float[] gradient = scratch.floats(1, PIECE);
    for (int first = 0; first < row; first += PIECE) {
      int count = Math.min(PIECE, row - first);
      float[] origin = spread(2, means, first, count);
      for (int from = 0; from < samples; from += RUN) {
        float[] sums = cleared(3);
        float[] products = cleared(4);
        for (int n = from; n < Math.min(samples, from + RUN); n++) {
          x.get(n * row + first, piece, 0, count);
          dy.get(n * row + first, gradient, 0, count);
          Loops.add(sums, gradient, count);
          Loops.addProduct(products, gradient, piece, origin, count);
        }
        collect(sums, first, count, totals[0]);
        collect(products, first, count, totals[1]);
      }
    }
    return totals;
  }

  /** Computes {@code dx = f[0] dy + f[1] x + f[2]} channel by channel. */
  void combine(FloatBuffer dy, FloatBuffer x, float[][] f, FloatBuffer dx) {
    float[] piece = scratch.floats(0, PIECE);
    float[] gradient = scratch.floats(1, PIECE);
    for (int first = 0; first < row; first += PIECE) {
      int count = Math.min(PIECE, row - first);
      float[] ofGradient = spread(2, f[0], first, count);
      float[] ofInput = spread(3, f[1], first, count);
      float[] constant = spread(4, f[2], first, count);
      for (int n = 0; n < samples; n++) {
        x.get(n * row + first, piece, 0, count);
        dy.get(n * row + first, gradient, 0, count);
        Loops.scale(piece, ofInput, constant, count);
        Loops.scale(gradient, ofGradient, piece, count);
        dx.put(n * row + first, gradient, 0, count);
      }
    }
  }

  /** Returns true if neighbours in a row belong to different channels. */
  private boolean interleaved() {
    return area == 1;
  }

  /** Repeats one value of each channel for every element of a piece. */
  private float[] spread(int slot, float[] values, int first, int count) {
    float[] spread = scratch.floats(slot, PIECE);
    if (interleaved()) {
      for (int at = 0; at < count; ) {
        int channel = (first + at) % channels;
        int length = Math.min(count - at, channels - channel);
        System.arraycopy(values, channel, spread, at, length);
        at += length;
      }
      return spread;
    }
    for (int at = 0; at < count; ) {
      int channel = (first + at) / area;
      int end = Math.min(count, (channel + 1) * area - first);
      Arrays.fill(spread, at, end, values[channel]);
      at = end;
    }
    return spread;
  }

  private float[] cleared(int slot) {
    float[] sums = scratch.floats(slot, PIECE);
    Arrays.fill(sums, 0, PIECE, 0f);
    return sums;
  }

  private void collect(float[] sums, int first, int count, double[] totals) {
    for (int i = 0; i < count; i++) {
      totals[(first + i) / area % channels] += sums[i];
    }
  }
}
