package io.vertigrad.compute.dl4j.kernels;

import java.nio.FloatBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The memory of {@code [samples, channels, height, width]} as planes of one channel each; the
 * arithmetic of {@link BatchNorm}. A sample is copied to Java at a time, so that several passes
 * over it cost one pass over memory.
 */
final class ChannelPlanes {

  private final int samples;
  private final int channels;
  private final int area;
  private final Scratch scratch;

  private ChannelPlanes(int samples, int channels, int area, Scratch scratch) {
    this.samples = samples;
    this.channels = channels;
    this.area = area;
    this.scratch = scratch;
  }

  /** The planes of an array of rank 4, or of rank 2 with planes of one element. */
  static ChannelPlanes of(INDArray array, Scratch scratch) {
    int samples = (int) array.size(0);
    int channels = (int) array.size(1);
    int area = array.rank() == 4 ? (int) (array.size(2) * array.size(3)) : 1;
    return new ChannelPlanes(samples, channels, area, scratch);
  }

  ChannelMoments moments(FloatBuffer x) {
    ChannelMoments moments = new ChannelMoments(channels);
    float[] plane = scratch.floats(0, area);
    for (int n = 0, from = 0; n < samples; n++) {
      for (int c = 0; c < channels; c++, from += area) {
        x.get(from, plane, 0, area);
        double mean = Sums.sum(plane, area) / area;
        moments.merge(c, mean, Sums.squares(plane, area, (float) mean), area);
      }
    }
    return moments;
  }

  /** {@code y = scale x + offset}, channel by channel. */
  void scale(FloatBuffer x, float[] scale, float[] offset, FloatBuffer y) {
    float[] plane = scratch.floats(0, area);
    for (int n = 0, from = 0; n < samples; n++) {
      for (int c = 0; c < channels; c++, from += area) {
        x.get(from, plane, 0, area);
        scale(plane, scale[c], offset[c], area);
        y.put(from, plane, 0, area);
      }
    }
  }

  /** For every channel the sums of {@code dy} and of {@code dy (x - mean)}. */
  double[][] gradientSums(FloatBuffer x, FloatBuffer dy, float[] means) {
    double[][] sums = new double[2][channels];
    float[] plane = scratch.floats(0, area);
    float[] gradient = scratch.floats(1, area);
    for (int n = 0, from = 0; n < samples; n++) {
      for (int c = 0; c < channels; c++, from += area) {
        x.get(from, plane, 0, area);
        dy.get(from, gradient, 0, area);
        sums[0][c] += Sums.sum(gradient, area);
        sums[1][c] += Sums.products(gradient, plane, area, means[c]);
      }
    }
    return sums;
  }

  /** {@code dx = f[0] dy + f[1] x + f[2]}, channel by channel. */
  void combine(FloatBuffer dy, FloatBuffer x, float[][] f, FloatBuffer dx) {
    float[] plane = scratch.floats(0, area);
    float[] gradient = scratch.floats(1, area);
    for (int n = 0, from = 0; n < samples; n++) {
      for (int c = 0; c < channels; c++, from += area) {
        x.get(from, plane, 0, area);
        dy.get(from, gradient, 0, area);
        combine(gradient, plane, f[0][c], f[1][c], f[2][c], area);
        dx.put(from, gradient, 0, area);
      }
    }
  }

  private static void scale(float[] x, float scale, float offset, int count) {
    for (int i = 0; i < count; i++) {
      x[i] = x[i] * scale + offset;
    }
  }

  private static void combine(float[] dy, float[] x, float a, float b, float c, int count) {
    for (int i = 0; i < count; i++) {
      dy[i] = a * dy[i] + b * x[i] + c;
    }
  }
}
