package io.vertigrad.engine.dl4j.kernels;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * The gradients of a convolution of stride 1 and few channels, with its kernels turned by half a
 * circle.
 *
 * <p>The input's gradient is then itself a convolution of {@code dy}, {@code dx = dy * turned(w)}
 * with padding {@code kernel - 1 - padding}, for which oneDNN has a direct algorithm; for the usual
 * one it takes Winograd's, whose intermediate planes are several times as large as 16 channels are.
 * ND4J has it as the gradient of a transposed convolution. Some samples at a time, because what is
 * reordered for them stays in the second-level cache.
 */
final class TurnedConvolution {

  private static final int MOST_CHANNELS = 16;
  private static final int SAMPLES = 32;

  private TurnedConvolution() {}

  /**
   * Whether it is the faster way.
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
   * @param x {@code [samples, in, rows, columns]}, as {@code dx}
   * @param dy {@code [samples, out, rows, columns]}
   * @param dw {@code [out, in, height, width]}, as {@code w}
   */
  static void gradients(
      INDArray x, INDArray w, INDArray dy, int[] padding, INDArray dx, INDArray dw) {
    INDArray turned = turned(w);
    INDArray part = Nd4j.createUninitialized(DataType.FLOAT, turned.shape(), 'c');
    float[] sums = new float[(int) w.length()];
    for (long first = 0; first < x.size(0); first += SAMPLES) {
      INDArrayIndex some = NDArrayIndex.interval(first, Math.min(x.size(0), first + SAMPLES));
      Nd4j.exec(
          DynamicCustomOp.builder("deconv2d_bp")
              .addInputs(x.get(some), turned, dy.get(some))
              .addOutputs(dx.get(some), part)
              .addIntegerArguments(arguments(w, padding))
              .build());
      Loops.add(sums, NativeFloats.values(part), sums.length);
    }
    NativeFloats.of(dw).put(turned(sums, (int) w.size(1), (int) w.size(0)));
  }

  /** Kernel, stride, padding, dilation; padding as given, NCHW, weights {@code [in, out, ..]}. */
  private static int[] arguments(INDArray w, int[] padding) {
    int height = (int) w.size(2);
    int width = (int) w.size(3);
    int padY = height - 1 - padding[0];
    int padX = width - 1 - padding[1];
    return new int[] {height, width, 1, 1, padY, padX, 1, 1, 0, 0, 1};
  }

  private static INDArray turned(INDArray w) {
    INDArray turned =
        Nd4j.createUninitialized(
            DataType.FLOAT, new long[] {w.size(1), w.size(0), w.size(2), w.size(3)}, 'c');
    NativeFloats.of(turned).put(turned(NativeFloats.values(w), (int) w.size(0), (int) w.size(1)));
    return turned;
  }

  /** From {@code [a, b, taps]} to {@code [b, a, taps]} with the taps in reverse. */
  private static float[] turned(float[] from, int a, int b) {
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
