package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Batch normalisation (Ioffe and Szegedy, 2015) over channels of images or over columns.
 *
 * <p>{@code y = gamma (x - m) / sqrt(v + eps) + beta}, in training with the batch's mean m and
 * variance v, otherwise with the running ones. The gradient of a running statistic is {@code (1 -
 * decay) (running - batch)}. The batch's variance is the unbiased {@code v n / (n - 1)} there, as
 * in PyTorch; the stock layer uses the biased one. A backward pass belongs to the last forward pass
 * in training mode.
 */
final class BatchNorm extends BatchNormalization implements ReportingLayer {

  private static final long serialVersionUID = 1L;

  private final transient Scratch scratch;
  private transient ChannelMoments moments;
  private transient boolean rectifies;
  private transient Runnable gradientFinal = () -> {};

  private BatchNorm(Layer stock, Scratch scratch) {
    super(stock.conf(), DataType.FLOAT);
    this.scratch = scratch;
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static BatchNorm of(Layer stock, Scratch scratch) {
    boolean same =
        stock.getClass() == BatchNormalization.class
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.BatchNormalization layer
            && layer.getCnn2DFormat() == CNN2DFormat.NCHW
            && !layer.isLockGammaBeta()
            && !layer.isUseLogStd()
            && layer.getIDropout() == null;
    return same ? Replacement.adopt(new BatchNorm(stock, scratch), stock) : null;
  }

  /**
   * Makes the layer put out {@code max(y, 0)} from now on. The gradient it receives is still that
   * of y.
   */
  void rectify() {
    rectifies = true;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    if (input.rank() != 2 && input.rank() != 4) {
      INDArray y = super.activate(training, memory);
      return rectifies ? Transforms.relu(y, false) : y;
    }
    ImageLayout layout = ImageLayout.of(input);
    INDArray x = layout.arrange(input);
    ChannelRows rows = ChannelRows.of(x, scratch);
    float[] scale = values(BatchNormalizationParamInitializer.GAMMA);
    float[] offset = values(BatchNormalizationParamInitializer.BETA);
    ChannelMoments used;
    if (training) {
      moments = rows.moments(NativeFloats.of(x));
      used = moments;
    } else {
      used =
          ChannelMoments.of(
              values(BatchNormalizationParamInitializer.GLOBAL_MEAN),
              values(BatchNormalizationParamInitializer.GLOBAL_VAR));
    }
    for (int c = 0; c < scale.length; c++) {
      double factor = scale[c] * used.inverseDeviation(c, layerConf().getEps());
      offset[c] = (float) (offset[c] - used.mean(c) * factor);
      scale[c] = (float) factor;
    }
    INDArray y = layout.create(memory, ArrayType.ACTIVATIONS, x.shape());
    rows.scale(NativeFloats.of(x), scale, offset, rectifies, NativeFloats.of(y));
    return y;
  }

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    if (input.rank() != 2 && input.rank() != 4) {
      return super.backpropGradient(epsilon, memory);
    }
    ImageLayout layout = ImageLayout.of(input);
    INDArray x = layout.arrange(input);
    INDArray dy = layout.arrange(epsilon);
    INDArray dx = layout.create(memory, ArrayType.ACTIVATION_GRAD, x.shape());
    ChannelRows rows = ChannelRows.of(x, scratch);
    double[][] sums = rows.gradientSums(NativeFloats.of(x), NativeFloats.of(dy), moments.means());
    float[] gamma = values(BatchNormalizationParamInitializer.GAMMA);
    float[] dGamma = new float[gamma.length];
    float[] dBeta = new float[gamma.length];
    float[] ofGradient = new float[gamma.length];
    float[] ofInput = new float[gamma.length];
    float[] constant = new float[gamma.length];
    for (int c = 0; c < gamma.length; c++) {
      double inverse = moments.inverseDeviation(c, layerConf().getEps());
      double n = moments.count();
      dBeta[c] = (float) sums[0][c];
      dGamma[c] = (float) (sums[1][c] * inverse);
      double a = gamma[c] * inverse;
      double b = -a * inverse * inverse * sums[1][c] / n;
      ofGradient[c] = (float) a;
      ofInput[c] = (float) b;
      constant[c] = (float) (-a * sums[0][c] / n - b * moments.mean(c));
    }
    rows.combine(
        NativeFloats.of(dy),
        NativeFloats.of(x),
        new float[][] {ofGradient, ofInput, constant},
        NativeFloats.of(dx));
    return new Pair<>(gradient(dGamma, dBeta), dx);
  }

  private Gradient gradient(float[] dGamma, float[] dBeta) {
    Gradient gradient = new DefaultGradient();
    float[] dMean = values(BatchNormalizationParamInitializer.GLOBAL_MEAN);
    float[] dVariance = values(BatchNormalizationParamInitializer.GLOBAL_VAR);
    double share = 1 - layerConf().getDecay();
    for (int c = 0; c < dMean.length; c++) {
      dMean[c] = (float) (share * (dMean[c] - moments.mean(c)));
      dVariance[c] = (float) (share * (dVariance[c] - moments.unbiasedVariance(c)));
    }
    put(gradient, BatchNormalizationParamInitializer.GAMMA, dGamma);
    put(gradient, BatchNormalizationParamInitializer.BETA, dBeta);
    put(gradient, BatchNormalizationParamInitializer.GLOBAL_MEAN, dMean);
    put(gradient, BatchNormalizationParamInitializer.GLOBAL_VAR, dVariance);
    gradientFinal.run();
    return gradient;
  }

  private void put(Gradient gradient, String key, float[] values) {
    INDArray view = gradientViews.get(key);
    NativeFloats.of(view).put(values);
    gradient.setGradientFor(key, view);
  }

  private float[] values(String key) {
    return NativeFloats.values(getParam(key));
  }
}
