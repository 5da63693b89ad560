package io.vertigrad.engine.dl4j.kernels;

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
 * Max-pooling without padding that remembers the position of each maximum, so the backward pass
 * only scatters.
 *
 * <p>A backward pass belongs to the last forward pass in training mode. Of equal values the first
 * in the window is the maximum.
 */
final class MaxPooling extends SubsamplingLayer {

  private static final long serialVersionUID = 1L;

  private final transient Scratch scratch;
  private transient int[] places = new int[0];
  private transient PoolingWindows windows;

  private MaxPooling(Layer stock, Scratch scratch) {
    super(stock.conf(), DataType.FLOAT);
    this.scratch = scratch;
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
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
    if (picksPixels()) {
      return picked(memory);
    }
    INDArray x = NativeFloats.rows(input);
    PoolingWindows fitting = windows(x);
    long[] shape = {x.size(0), x.size(1), fitting.rows(), fitting.columns()};
    INDArray y = memory.createUninitialized(ArrayType.ACTIVATIONS, DataType.FLOAT, shape, 'c');
    IntBuffer from = NativeFloats.bits(x);
    IntBuffer to = NativeFloats.bits(y);
    int planes = (int) (shape[0] * shape[1]);
    int[] found = training ? places(planes * fitting.count()) : null;
    int[] plane = scratch.ints(0, fitting.area());
    int[] maxima = scratch.ints(1, fitting.count());
    for (int p = 0; p < planes; p++) {
      from.get(p * fitting.area(), plane, 0, fitting.area());
      fitting.maxima(plane, maxima);
      if (training) {
        fitting.places(plane, maxima, found, p * fitting.count());
      }
      PoolingWindows.swapOrder(maxima, fitting.count());
      to.put(p * fitting.count(), maxima, 0, fitting.count());
    }
    return y;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    if (picksPixels()) {
      return new Pair<>(new DefaultGradient(), spread(epsilon, memory));
    }
    INDArray dx =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, input.shape(), 'c');
    PoolingWindows fitting = windows(input);
    FloatBuffer from = NativeFloats.of(NativeFloats.rows(epsilon));
    FloatBuffer to = NativeFloats.of(dx);
    float[] plane = scratch.floats(0, fitting.area());
    float[] gradients = scratch.floats(1, fitting.count());
    int planes = (int) (input.size(0) * input.size(1));
    for (int p = 0; p < planes; p++) {
      from.get(p * fitting.count(), gradients, 0, fitting.count());
      Arrays.fill(plane, 0, fitting.area(), 0f);
      scatter(plane, gradients, places, p * fitting.count(), fitting.count());
      to.put(p * fitting.area(), plane, 0, fitting.area());
    }
    return new Pair<>(new DefaultGradient(), dx);
  }

  /**
   * Returns true if every window is a single pixel, whose channels are side by side: a pass copies
   * pixels as they are.
   */
  private boolean picksPixels() {
    return Arrays.equals(layerConf().getKernelSize(), new int[] {1, 1})
        && ImageLayout.of(input) == ImageLayout.CHANNELS_LAST;
  }

  private INDArray picked(LayerWorkspaceMgr memory) {
    PoolingWindows fitting = windows(input);
    long[] shape = {input.size(0), input.size(1), fitting.rows(), fitting.columns()};
    INDArray y = ImageLayout.CHANNELS_LAST.create(memory, ArrayType.ACTIVATIONS, shape);
    FloatBuffer from = NativeFloats.of(input);
    FloatBuffer to = NativeFloats.of(y);
    int channels = (int) shape[1];
    int windows = (int) shape[0] * fitting.count();
    for (int w = 0; w < windows; w++) {
      to.put(w * channels, from, pixel(fitting, w) * channels, channels);
    }
    return y;
  }

  private INDArray spread(INDArray epsilon, LayerWorkspaceMgr memory) {
    PoolingWindows fitting = windows(input);
    INDArray dx =
        ImageLayout.CHANNELS_LAST.create(memory, ArrayType.ACTIVATION_GRAD, input.shape());
    INDArray dy = ImageLayout.CHANNELS_LAST.arrange(epsilon);
    FloatBuffer from = NativeFloats.of(dy);
    FloatBuffer to = NativeFloats.of(dx);
    int channels = (int) input.size(1);
    int row = (int) input.size(3) * channels;
    float[] zeros = new float[row];
    for (int first = 0; first < to.capacity(); first += row) {
      to.put(first, zeros);
    }
    int windows = (int) input.size(0) * fitting.count();
    for (int w = 0; w < windows; w++) {
      to.put(pixel(fitting, w) * channels, from, w * channels, channels);
    }
    return dx;
  }

  /** Returns the number of a window's pixel, counted over all samples. */
  private int pixel(PoolingWindows fitting, int window) {
    int[] stride = layerConf().getStride();
    int inSample = window % fitting.count();
    int row = inSample / fitting.columns() * stride[0];
    int column = inSample % fitting.columns() * stride[1];
    return window / fitting.count() * fitting.area() + row * (int) input.size(3) + column;
  }

  private static void scatter(
      float[] plane, float[] gradients, int[] places, int first, int count) {
    for (int w = 0; w < count; w++) {
      plane[places[first + w]] += gradients[w];
    }
  }

  private int[] places(int count) {
    if (places.length < count) {
      places = new int[count];
    }
    return places;
  }

  private PoolingWindows windows(INDArray x) {
    int[] kernel = layerConf().getKernelSize();
    int[] stride = layerConf().getStride();
    int height = (int) x.size(2);
    int width = (int) x.size(3);
    if (windows == null || !windows.isFor(height, width)) {
      windows = new PoolingWindows(height, width, kernel, stride);
    }
    return windows;
  }
}
