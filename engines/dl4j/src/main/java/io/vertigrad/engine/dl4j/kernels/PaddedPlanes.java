package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * Direct convolution of stride 1 over padded planes; the arithmetic of {@link FirstConvolution}.
 *
 * <p>A plane is one channel of one sample. A span is the part of a padded plane that one tap of the
 * kernel reads, in rows of the padded width; it includes columns that wrap around and are dropped.
 * Every span is copied to an array of its own, because the compiler vectorises only loops that use
 * the same index in every array.
 */
final class PaddedPlanes {

  /** The dimensions of a convolution. */
  record Size(
      int channelsIn,
      int channelsOut,
      int height,
      int width,
      int kernelHeight,
      int kernelWidth,
      int padY,
      int padX) {

    int rows() {
      return height + 2 * padY - kernelHeight + 1;
    }

    int columns() {
      return paddedWidth() - kernelWidth + 1;
    }

    private int paddedWidth() {
      return width + 2 * padX;
    }

    private int paddedArea() {
      return (height + 2 * padY) * paddedWidth();
    }

    private int span() {
      return (rows() - 1) * paddedWidth() + columns();
    }

    private int taps() {
      return kernelHeight * kernelWidth;
    }
  }

  private final Size size;
  private final float[] padded;
  private final float[] compact;
  private final float[] plane;
  private final float[][] shifted;
  private final float[][] products;
  private final float[][] sums;

  PaddedPlanes(Size size) {
    this.size = size;
    this.padded = new float[size.paddedArea()];
    this.compact = new float[Math.max(size.rows() * size.columns(), size.height() * size.width())];
    this.plane = new float[size.span()];
    this.shifted = new float[size.channelsIn() * size.taps()][size.span()];
    this.products = new float[size.channelsOut() * shifted.length][size.span()];
    this.sums = new float[size.channelsOut()][size.span()];
  }

  Size size() {
    return size;
  }

  /** Writes {@code samples} outputs, channel by channel. */
  void convolve(int samples, FloatBuffer x, float[] weights, float[] bias, FloatBuffer y) {
    for (int n = 0; n < samples; n++) {
      load(x, n);
      for (int out = 0; out < size.channelsOut(); out++) {
        Arrays.fill(plane, bias[out]);
        for (int tap = 0; tap < shifted.length; tap++) {
          addScaled(plane, shifted[tap], weights[out * shifted.length + tap]);
        }
        store(y, n * size.channelsOut() + out);
      }
    }
  }

  /**
   * Writes the gradient of weights and bias, summed over the samples.
   *
   * @param bias null if the convolution has none
   */
  void gradient(int samples, FloatBuffer x, FloatBuffer dy, FloatBuffer weights, FloatBuffer bias) {
    clear(products);
    clear(sums);
    Arrays.fill(plane, 0f);
    for (int n = 0; n < samples; n++) {
      load(x, n);
      for (int out = 0; out < size.channelsOut(); out++) {
        loadGradient(dy, n * size.channelsOut() + out);
        add(sums[out], plane);
        for (int tap = 0; tap < shifted.length; tap++) {
          addProduct(products[out * shifted.length + tap], plane, shifted[tap]);
        }
      }
    }
    totals(products, weights);
    if (bias != null) {
      totals(sums, bias);
    }
  }

  private void load(FloatBuffer x, int sample) {
    int area = size.height() * size.width();
    int first = size.padY() * size.paddedWidth() + size.padX();
    for (int channel = 0; channel < size.channelsIn(); channel++) {
      x.get((sample * size.channelsIn() + channel) * area, compact, 0, area);
      for (int row = 0; row < size.height(); row++) {
        int to = first + row * size.paddedWidth();
        System.arraycopy(compact, row * size.width(), padded, to, size.width());
      }
      for (int tap = 0; tap < size.taps(); tap++) {
        int offset = tap / size.kernelWidth() * size.paddedWidth() + tap % size.kernelWidth();
        float[] span = shifted[channel * size.taps() + tap];
        System.arraycopy(padded, offset, span, 0, span.length);
      }
    }
  }

  private void store(FloatBuffer y, int number) {
    int columns = size.columns();
    for (int row = 0; row < size.rows(); row++) {
      System.arraycopy(plane, row * size.paddedWidth(), compact, row * columns, columns);
    }
    int area = size.rows() * columns;
    y.put(number * area, compact, 0, area);
  }

  private void loadGradient(FloatBuffer dy, int number) {
    int columns = size.columns();
    int area = size.rows() * columns;
    dy.get(number * area, compact, 0, area);
    for (int row = 0; row < size.rows(); row++) {
      System.arraycopy(compact, row * columns, plane, row * size.paddedWidth(), columns);
    }
  }

  private static void addScaled(float[] sum, float[] x, float scale) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += scale * x[i];
    }
  }

  private static void add(float[] sum, float[] x) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += x[i];
    }
  }

  private static void addProduct(float[] sum, float[] gradient, float[] x) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += gradient[i] * x[i];
    }
  }

  private static void clear(float[][] arrays) {
    for (float[] array : arrays) {
      Arrays.fill(array, 0f);
    }
  }

  private static void totals(float[][] arrays, FloatBuffer to) {
    for (int i = 0; i < arrays.length; i++) {
      double total = 0;
      for (float value : arrays[i]) {
        total += value;
      }
      to.put(i, (float) total);
    }
  }
}
