package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dense layer with ReLU or no activation: {@code y = max(x w + b, 0)}.
 *
 * <p>It keeps its output for the backward pass, where the stock layer would compute it again, and
 * it skips the gradient of the network's own input. A backward pass belongs to the last forward
 * pass in training mode.
 */
final class DenseUnits extends DenseLayer implements ReportingLayer {

  private static final long serialVersionUID = 1L;

  private final boolean first;
  private final boolean rectified;
  private final transient Scratch scratch;
  private transient INDArray output;
  private transient Runnable gradientFinal = () -> {};

  private DenseUnits(Layer stock, boolean first, Scratch scratch) {
    super(stock.conf(), DataType.FLOAT);
    this.first = first;
    this.rectified = layerConf().getActivationFn() instanceof ActivationReLU;
    this.scratch = scratch;
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   *
   * @param first whether the layer reads the network's input
   */
  static DenseUnits of(Layer stock, boolean first, Scratch scratch) {
    boolean same =
        stock.getClass() == DenseLayer.class
            && stock.conf().getLayer() instanceof org.deeplearning4j.nn.conf.layers.DenseLayer layer
            && isKnown(layer.getActivationFn())
            && layer.hasBias()
            && !layer.hasLayerNorm()
            && layer.getIDropout() == null
            && layer.getWeightNoise() == null;
    return same ? Replacement.adopt(new DenseUnits(stock, first, scratch), stock) : null;
  }

  private static boolean isKnown(IActivation activation) {
    return activation.getClass() == ActivationIdentity.class
        || activation.equals(new ActivationReLU());
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    if (!isPlain()) {
      return super.activate(training, memory);
    }
    INDArray x = NativeFloats.rows(input);
    INDArray w = getParam(DefaultParamInitializer.WEIGHT_KEY);
    long[] shape = {x.size(0), w.size(1)};
    output = memory.createUninitialized(ArrayType.ACTIVATIONS, DataType.FLOAT, shape, 'c');
    Gemm.forward(x, w, output);
    finish((int) shape[0], (int) shape[1]);
    return output;
  }

  /**
   * Returns true for the case that this layer computes; the stock layer computes or refuses any
   * other.
   */
  private boolean isPlain() {
    return input.rank() == 2
        && input.size(1) == getParam(DefaultParamInitializer.WEIGHT_KEY).size(0)
        && maskArray == null;
  }

  private void finish(int rows, int units) {
    FloatBuffer y = NativeFloats.of(output);
    float[] bias = scratch.floats(0, units);
    float[] row = scratch.floats(1, units);
    NativeFloats.of(getParam(DefaultParamInitializer.BIAS_KEY)).get(bias, 0, units);
    float least = rectified ? 0f : Float.NEGATIVE_INFINITY;
    for (int n = 0; n < rows; n++) {
      y.get(n * units, row, 0, units);
      for (int i = 0; i < units; i++) {
        row[i] = Math.max(row[i] + bias[i], least);
      }
      y.put(n * units, row, 0, units);
    }
  }

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    if (!isPlain()) {
      return super.backpropGradient(epsilon, memory);
    }
    INDArray x = NativeFloats.rows(input);
    INDArray dy = NativeFloats.rows(epsilon);
    INDArray dz =
        memory.createUninitialized(ArrayType.BP_WORKING_MEM, DataType.FLOAT, dy.shape(), 'c');
    INDArray db = gradientViews.get(DefaultParamInitializer.BIAS_KEY);
    INDArray dw = gradientViews.get(DefaultParamInitializer.WEIGHT_KEY);
    outputGradient(dy, dz, db);
    Gemm.weightGradient(x, dz, dw);
    gradientFinal.run();
    INDArray dx =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
    if (!first) {
      Gemm.inputGradient(dz, getParam(DefaultParamInitializer.WEIGHT_KEY), dx);
    }
    Gradient gradient = new DefaultGradient();
    gradient.setGradientFor(DefaultParamInitializer.BIAS_KEY, db);
    gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, dw);
    return new Pair<>(gradient, dx);
  }

  /** Computes the gradient before the ReLU, and its sum over the samples. */
  private void outputGradient(INDArray dy, INDArray dz, INDArray db) {
    int units = (int) dy.size(1);
    float[] sums = new float[units];
    float[] row = scratch.floats(0, units);
    int[] gradients = scratch.ints(0, units);
    int[] outputs = scratch.ints(1, units);
    IntBuffer from = NativeFloats.bits(dy);
    IntBuffer signs = NativeFloats.bits(output);
    IntBuffer to = NativeFloats.bits(dz);
    FloatBuffer values = NativeFloats.of(dz);
    for (int first = 0; first < from.capacity(); first += units) {
      from.get(first, gradients, 0, units);
      if (rectified) {
        signs.get(first, outputs, 0, units);
        Rectifier.keepWherePositive(gradients, outputs, units);
      }
      to.put(first, gradients, 0, units);
      values.get(first, row, 0, units);
      for (int i = 0; i < units; i++) {
        sums[i] += row[i];
      }
    }
    NativeFloats.of(db).put(sums);
  }
}
