package io.vertigrad.compute.dl4j.kernels;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Max-pooling without padding, which remembers where each maximum was, so that its backward pass
 * only scatters.
 *
 * <p>A backward pass belongs to the last forward pass in training mode. Of equal values the first
 * in the window is the maximum.
 */
final class MaxPooling extends SubsamplingLayer {

  private static final long serialVersionUID = 1L;

  private final transient Scratch scratch;
  private transient int[] places = new int[0];

  private MaxPooling(Layer stock, Scratch scratch) {
    super(stock.conf(), DataType.FLOAT);
    this.scratch = scratch;
  }

  /** The replacement of a stock layer, or null if that one does something else. */
  static MaxPooling of(Layer stock, Scratch scratch) {
    boolean same =
        stock.getClass() == SubsamplingLayer.class
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.SubsamplingLayer layer
            && layer.getPoolingType() == PoolingType.MAX
            && layer.getCnn2dDataFormat() == CNN2DFormat.NCHW
            && layer.getConvolutionMode() != ConvolutionMode.Same
            && layer.getIDropout() == null
            && Arrays.equals(layer.getPadding(), new int[] {0, 0})
            && Arrays.equals(layer.getDilation(), new int[] {1, 1});
    return same ? new MaxPooling(stock, scratch) : null;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    INDArray x = NativeFloats.rows(input);
    Windows windows = windows(x);
    long[] shape = {x.size(0), x.size(1), windows.rows(), windows.columns()};
    INDArray y = memory.createUninitialized(ArrayType.ACTIVATIONS, DataType.FLOAT, shape, 'c');
    int planes = (int) (shape[0] * shape[1]);
    int[] found = training ? places(planes * windows.count()) : scratch.ints(0, windows.count());
    IntBuffer from = NativeFloats.bits(x);
    IntBuffer to = NativeFloats.bits(y);
    int[] plane = scratch.ints(1, windows.area());
    int[] maxima = scratch.ints(2, windows.count());
    for (int p = 0; p < planes; p++) {
      from.get(p * windows.area(), plane, 0, windows.area());
      windows.maxima(plane, maxima, found, training ? p * windows.count() : 0);
      to.put(p * windows.count(), maxima, 0, windows.count());
    }
    return y;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray dy = NativeFloats.rows(epsilon);
    INDArray dx =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, input.shape(), 'c');
    Windows windows = windows(input);
    FloatBuffer from = NativeFloats.of(dy);
    FloatBuffer to = NativeFloats.of(dx);
    float[] plane = scratch.floats(0, windows.area());
    float[] gradients = scratch.floats(1, windows.count());
    int planes = (int) (input.size(0) * input.size(1));
    for (int p = 0; p < planes; p++) {
      from.get(p * windows.count(), gradients, 0, windows.count());
      Arrays.fill(plane, 0, windows.area(), 0f);
      for (int w = 0; w < windows.count(); w++) {
        plane[places[p * windows.count() + w]] += gradients[w];
      }
      to.put(p * windows.area(), plane, 0, windows.area());
    }
    return new Pair<>(new DefaultGradient(), dx);
  }

  private int[] places(int count) {
    if (places.length < count) {
      places = new int[count];
    }
    return places;
  }

  private Windows windows(INDArray x) {
    int[] kernel = layerConf().getKernelSize();
    int[] stride = layerConf().getStride();
    return new Windows(
        (int) x.size(2), (int) x.size(3), kernel[0], kernel[1], stride[0], stride[1]);
  }

  /** The windows of one plane, in elements. */
  private record Windows(
      int height, int width, int kernelHeight, int kernelWidth, int strideY, int strideX) {

    int rows() {
      return (height - kernelHeight) / strideY + 1;
    }

    int columns() {
      return (width - kernelWidth) / strideX + 1;
    }

    int count() {
      return rows() * columns();
    }

    int area() {
      return height * width;
    }

    /**
     * Finds each window's maximum. Bits and place are packed into one integer so that a step is
     * one comparison without a branch.
     */
    void maxima(int[] plane, int[] maxima, int[] places, int firstPlace) {
      int columns = columns();
      for (int w = 0; w < count(); w++) {
        int corner = w / columns * strideY * width + w % columns * strideX;
        long most = Long.MIN_VALUE;
        for (int y = 0; y < kernelHeight; y++) {
          int row = corner + y * width;
          for (int i = row; i < row + kernelWidth; i++) {
            most = Math.max(most, ordered(plane[i]) << 32 | Integer.MAX_VALUE - i);
          }
        }
        int place = Integer.MAX_VALUE - (int) most;
        maxima[w] = plane[place];
        places[firstPlace + w] = place;
      }
    }

    /** The bits of a float as an integer that compares as the float does. */
    private static long ordered(int bits) {
      return bits ^ (bits >> 31 & Integer.MAX_VALUE);
    }
  }
}
