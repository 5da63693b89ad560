package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A convolution of few channels that reads the network's input, so the gradient of its input is not
 * needed.
 *
 * <p>Processes whole padded planes: with rows of the padded width, the output at every position is
 * a sum of shifted input planes, {@code y += w[tap] * x[. + offset(tap)]}. These loops are long and
 * vectorised; the few columns that wrap around are dropped.
 */
final class FirstConvolution extends ConvolutionLayer implements ReportingLayer {

  private static final long serialVersionUID = 1L;
  private static final int MOST_WEIGHTS = 1024;

  private transient PaddedPlanes planes;
  private transient Runnable gradientFinal = () -> {};

  private FirstConvolution(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static FirstConvolution of(Layer stock) {
    boolean same =
        PlainConvolution.isPlain(stock)
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.ConvolutionLayer layer
            && Arrays.equals(layer.getStride(), new int[] {1, 1})
            && stock.getParam(ConvolutionParamInitializer.WEIGHT_KEY).length() <= MOST_WEIGHTS;
    return same ? Replacement.adopt(new FirstConvolution(stock), stock) : null;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    INDArray x = NativeFloats.rows(input);
    PaddedPlanes fitting = planes(x);
    PaddedPlanes.Size size = fitting.size();
    long[] shape = {x.size(0), size.channelsOut(), size.rows(), size.columns()};
    INDArray y = memory.createUninitialized(ArrayType.ACTIVATIONS, DataType.FLOAT, shape, 'c');
    float[] weights = values(ConvolutionParamInitializer.WEIGHT_KEY);
    float[] bias =
        hasBias() ? values(ConvolutionParamInitializer.BIAS_KEY) : new float[size.channelsOut()];
    fitting.convolve((int) x.size(0), NativeFloats.of(x), weights, bias, NativeFloats.of(y));
    return y;
  }

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray x = NativeFloats.rows(input);
    FloatBuffer dy = NativeFloats.of(NativeFloats.rows(epsilon));
    INDArray dw = gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY);
    INDArray db = gradientViews.get(ConvolutionParamInitializer.BIAS_KEY);
    FloatBuffer bias = hasBias() ? NativeFloats.of(db) : null;
    planes(x).gradient((int) x.size(0), NativeFloats.of(x), dy, NativeFloats.of(dw), bias);
    gradientFinal.run();
    Gradient gradient = new DefaultGradient();
    if (hasBias()) {
      gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, db);
    }
    gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, dw, 'c');
    INDArray unused =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
    return new Pair<>(gradient, unused);
  }

  private PaddedPlanes planes(INDArray x) {
    int[] kernel = layerConf().getKernelSize();
    int[] padding = layerConf().getPadding();
    PaddedPlanes.Size size =
        new PaddedPlanes.Size(
            (int) x.size(1),
            (int) getParam(ConvolutionParamInitializer.WEIGHT_KEY).size(0),
            (int) x.size(2),
            (int) x.size(3),
            kernel[0],
            kernel[1],
            padding[0],
            padding[1]);
    if (planes == null || !planes.size().equals(size)) {
      planes = new PaddedPlanes(size);
    }
    return planes;
  }

  private float[] values(String key) {
    return NativeFloats.values(getParam(key));
  }
}
