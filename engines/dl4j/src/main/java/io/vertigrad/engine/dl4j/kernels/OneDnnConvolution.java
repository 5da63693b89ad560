package io.vertigrad.engine.dl4j.kernels;

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
 * A convolution without activation whose channels are multiples of 16, on oneDNN without ND4J. Its
 * output has the channels last, and so do the outputs of the fast layers that follow it.
 */
final class OneDnnConvolution extends ConvolutionLayer implements ReportingLayer {

  private static final long serialVersionUID = 1L;

  private final boolean first;
  private transient ConvolutionPrimitives primitives;
  private transient Runnable gradientFinal = () -> {};

  private OneDnnConvolution(Layer stock, boolean first) {
    super(stock.conf(), DataType.FLOAT);
    this.first = first;
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else,
   * or if another kernel is faster.
   *
   * @param first whether the layer reads the network's input, so that the gradient of its input is
   *     not needed
   */
  static OneDnnConvolution of(Layer stock, boolean first) {
    return PlainConvolution.isPlain(stock) && suits(stock, first) && OneDnn.isAvailable()
        ? Replacement.adopt(new OneDnnConvolution(stock, first), stock)
        : null;
  }

  private static boolean suits(Layer stock, boolean first) {
    INDArray weights = stock.getParam(ConvolutionParamInitializer.WEIGHT_KEY);
    boolean in = first || weights.size(1) % ConvolutionPrimitives.BLOCK == 0;
    return in && weights.size(0) % ConvolutionPrimitives.BLOCK == 0;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    validateInputRank();
    INDArray w = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
    validateInputDepth(w.size(1));
    ConvolutionPrimitives fitting = primitives(w);
    ConvolutionPrimitives.Size size = fitting.size();
    INDArray x = size.inputLayout().arrange(input);
    INDArray y =
        ImageLayout.CHANNELS_LAST.create(
            memory,
            ArrayType.ACTIVATIONS,
            size.samples(),
            size.channelsOut(),
            size.rows(),
            size.columns());
    INDArray bias = hasBias() ? getParam(ConvolutionParamInitializer.BIAS_KEY) : null;
    fitting.forward(x, w, bias, y);
    return y;
  }

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray w = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
    INDArray dw = gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY);
    INDArray db = hasBias() ? gradientViews.get(ConvolutionParamInitializer.BIAS_KEY) : null;
    ConvolutionPrimitives fitting = primitives(w);
    ImageLayout layout = fitting.size().inputLayout();
    INDArray dy = ImageLayout.CHANNELS_LAST.arrange(epsilon);
    fitting.weightGradient(layout.arrange(input), dy, dw, db);
    gradientFinal.run();
    Gradient gradient = new DefaultGradient();
    if (db != null) {
      gradient.setGradientFor(ConvolutionParamInitializer.BIAS_KEY, db);
    }
    gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, dw, 'c');
    INDArray dx = layout.create(memory, ArrayType.ACTIVATION_GRAD, input.shape());
    if (!first) {
      fitting.inputGradient(dy, w, dx);
    }
    return new Pair<>(gradient, dx);
  }

  private ConvolutionPrimitives primitives(INDArray w) {
    int[] stride = layerConf().getStride();
    int[] padding = layerConf().getPadding();
    ConvolutionPrimitives.Size size =
        new ConvolutionPrimitives.Size(
            input.size(0),
            input.size(1),
            w.size(0),
            input.size(2),
            input.size(3),
            w.size(2),
            w.size(3),
            stride[0],
            stride[1],
            padding[0],
            padding[1],
            hasBias());
    if (primitives == null || !primitives.size().equals(size)) {
      if (primitives != null) {
        primitives.close();
      }
      primitives = new ConvolutionPrimitives(size);
    }
    return primitives;
  }
}
