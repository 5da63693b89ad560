package io.vertigrad.engine.dl4j.kernels;

import java.util.Arrays;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.mkldnn.MKLDNNConvHelper;
import org.deeplearning4j.nn.params.ConvolutionParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A convolution without activation on oneDNN. The stock layer would also copy its output into a
 * cache that the backward pass of the identity never reads.
 */
final class PlainConvolution extends ConvolutionLayer implements ReportingLayer {

  private static final long serialVersionUID = 1L;

  private transient Runnable gradientFinal = () -> {};

  private PlainConvolution(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static PlainConvolution of(Layer stock) {
    return isPlain(stock) && stock.getHelper() instanceof MKLDNNConvHelper
        ? Replacement.adopt(new PlainConvolution(stock), stock)
        : null;
  }

  /** Returns true for a two-dimensional convolution without further features. */
  static boolean isPlain(Layer stock) {
    return stock.getClass() == ConvolutionLayer.class
        && stock.conf().getLayer()
            instanceof org.deeplearning4j.nn.conf.layers.ConvolutionLayer layer
        && layer.getActivationFn().getClass() == ActivationIdentity.class
        && layer.getCnn2dDataFormat() == CNN2DFormat.NCHW
        && layer.getConvolutionMode() != ConvolutionMode.Same
        && Arrays.equals(layer.getDilation(), new int[] {1, 1})
        && layer.getIDropout() == null
        && layer.getWeightNoise() == null;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    validateInputRank();
    validateInputDepth(getParam(ConvolutionParamInitializer.WEIGHT_KEY).size(1));
    return helper.preOutput(
        input,
        getParam(ConvolutionParamInitializer.WEIGHT_KEY),
        getParam(ConvolutionParamInitializer.BIAS_KEY),
        layerConf().getKernelSize(),
        layerConf().getStride(),
        layerConf().getPadding(),
        layerConf().getCudnnAlgoMode(),
        layerConf().getCudnnFwdAlgo(),
        convolutionMode,
        layerConf().getDilation(),
        CNN2DFormat.NCHW,
        memory);
  }

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray w = getParam(ConvolutionParamInitializer.WEIGHT_KEY);
    if (!hasBias()
        && RotatedKernelConvolution.suits(w, layerConf().getStride(), layerConf().getPadding())) {
      return rotatedKernelGradients(
          NativeFloats.rows(input), w, NativeFloats.rows(epsilon), memory);
    }
    Pair<Gradient, INDArray> both =
        helper.backpropGradient(
            input,
            w,
            getParam(ConvolutionParamInitializer.BIAS_KEY),
            NativeFloats.rows(epsilon),
            layerConf().getKernelSize(),
            layerConf().getStride(),
            layerConf().getPadding(),
            gradientViews.get(ConvolutionParamInitializer.BIAS_KEY),
            gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY),
            layerConf().getActivationFn(),
            layerConf().getCudnnAlgoMode(),
            layerConf().getCudnnBwdFilterAlgo(),
            layerConf().getCudnnBwdDataAlgo(),
            convolutionMode,
            layerConf().getDilation(),
            CNN2DFormat.NCHW,
            memory);
    gradientFinal.run();
    return both;
  }

  private Pair<Gradient, INDArray> rotatedKernelGradients(
      INDArray x, INDArray w, INDArray dy, LayerWorkspaceMgr memory) {
    INDArray dw = gradientViews.get(ConvolutionParamInitializer.WEIGHT_KEY);
    INDArray dx =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
    RotatedKernelConvolution.gradients(x, w, dy, layerConf().getPadding(), dx, dw);
    gradientFinal.run();
    Gradient gradient = new DefaultGradient();
    gradient.setGradientFor(ConvolutionParamInitializer.WEIGHT_KEY, dw, 'c');
    return new Pair<>(gradient, dx);
  }
}
