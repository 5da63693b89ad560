package io.vertigrad.engine.dl4j.kernels;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The gradients of a convolution of stride 1 and few channels, computed with rotated kernels.
 *
 * <p>The input's gradient is itself a convolution of {@code dy}, {@code dx = dy * rotated(w)} with
 * padding {@code kernel - 1 - padding}; a rotated kernel is rotated by 180 degrees. oneDNN has a
 * direct algorithm for it. For the usual one it takes Winograd's, whose intermediate planes are
 * several times as large for 16 channels. ND4J offers it as the gradient of a transposed
 * convolution. Samples are processed a few at a time, because oneDNN's reordered copies of them
 * stay in the second-level cache.
 */
final class RotatedKernelConvolution {

  private static final int MOST_CHANNELS = 16;
  private static final int SAMPLES = 32;

  private RotatedKernelConvolution() {}

  /**
   * Returns true when this is the faster algorithm.
   *
   * @param w weights {@code [out, in, height, width]}
   */
  static boolean suits(INDArray w, int[] stride, int[] padding) {
    return w.size(0) <= MOST_CHANNELS
        && w.size(1) <= MOST_CHANNELS
        && stride[0] == 1
        && stride[1] == 1
        && padding[0] < w.size(2)
        && padding[1] < w.size(3);
  }

  /**
   * Writes the gradients of input and weights.
   *
   * @param x {@code [samples, in, rows, columns]}, like {@code dx}
   * @param dy {@code [samples, out, rows, columns]}
   * @param dw {@code [out, in, height, width]}, like {@code w}
   */
  static void gradients(
      INDArray x, INDArray w, INDArray dy, int[] padding, INDArray dx, INDArray dw) {
    INDArray rotated = rotated(w);
    INDArray part = Nd4j.createUninitialized(DataType.FLOAT, rotated.shape(), 'c');
    float[] sums = new float[(int) w.length()];
    for (long first = 0; first < x.size(0); first += SAMPLES) {
      INDArrayIndex some = NDArrayIndex.interval(first, Math.min(x.size(0), first + SAMPLES));
      Nd4j.exec(
          DynamicCustomOp.builder("deconv2d_bp")
              .addInputs(x.get(some), rotated, dy.get(some))
              .addOutputs(dx.get(some), part)
              .addIntegerArguments(arguments(w, padding))
              .build());
      Loops.add(sums, NativeFloats.values(part), sums.length);
    }
    NativeFloats.of(dw).put(rotated(sums, (int) w.size(1), (int) w.size(0)));
  }

  /**
   * Returns kernel, stride, padding, dilation, explicit padding, NCHW, and weights as {@code [in,
   * out, ..]}.
   */
  private static int[] arguments(INDArray w, int[] padding) {
    int height = (int) w.size(2);
    int width = (int) w.size(3);
    int padY = height - 1 - padding[0];
    int padX = width - 1 - padding[1];
    return new int[] {height, width, 1, 1, padY, padX, 1, 1, 0, 0, 1};
  }

  private static INDArray rotated(INDArray w) {
    INDArray rotated =
        Nd4j.createUninitialized(
            DataType.FLOAT, new long[] {w.size(1), w.size(0), w.size(2), w.size(3)}, 'c');
    NativeFloats.of(rotated).put(rotated(NativeFloats.values(w), (int) w.size(0), (int) w.size(1)));
    return rotated;
  }

  /** Converts {@code [a, b, taps]} to {@code [b, a, taps]} with the taps in reverse. */
  private static float[] rotated(float[] from, int a, int b) {
    int taps = from.length / (a * b);
    float[] to = new float[from.length];
    for (int i = 0; i < from.length; i++) {
      int pair = i / taps;
      int place = pair % b * a + pair / b;
      to[place * taps + taps - 1 - i % taps] = from[i];
    }
    return to;
  }
}
