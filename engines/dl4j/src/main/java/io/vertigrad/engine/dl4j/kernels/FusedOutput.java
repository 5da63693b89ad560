package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.OutputLayer;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A dense layer with an activation and a loss that computes gradient and loss in one pass over the
 * scores.
 *
 * <p>It keeps the loss and the number of correct predictions of the backward pass; the stock layer
 * would compute the whole layer twice more for the loss.
 */
abstract class FusedOutput extends OutputLayer implements ReportingLayer {

  private static final long serialVersionUID = 1L;

  private transient double loss = Double.NaN;
  private transient int correct = -1;

  /** Scores of the last backward pass, with bias, sample after sample. */
  private transient float[] scores = {};

  private transient Runnable gradientFinal = () -> {};

  FusedOutput(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /**
   * Returns true for a stock dense output layer with a bias and no other feature that changes the
   * result.
   */
  static boolean isPlain(Layer stock) {
    return stock.getClass() == OutputLayer.class
        && stock.conf().getLayer() instanceof org.deeplearning4j.nn.conf.layers.OutputLayer layer
        && layer.hasBias()
        && layer.getIDropout() == null
        && layer.getWeightNoise() == null;
  }

  /**
   * Counts the correct predictions of one sample.
   *
   * @param z scores without bias
   * @param y the targets
   * @return a negative number if predictions are neither correct nor wrong
   */
  abstract int countCorrect(float[] z, float[] bias, float[] y);

  /**
   * Replaces one sample's scores without bias by the gradient of its loss.
   *
   * @return the loss
   */
  abstract double toGradient(float[] z, float[] bias, float[] y);

  /** Replaces one sample's scores by the layer's outputs. */
  abstract void toOutputs(float[] scores);

  @Override
  public void onGradientFinal(Runnable listener) {
    gradientFinal = listener;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    if (input.rank() != 2 || labels.rank() != 2 || maskArray != null) {
      correct = -1;
      scores = new float[0];
      return super.backpropGradient(epsilon, memory);
    }
    INDArray x = NativeFloats.rows(input);
    INDArray w = getParam(DefaultParamInitializer.WEIGHT_KEY);
    INDArray db = gradientViews.get(DefaultParamInitializer.BIAS_KEY);
    INDArray dw = gradientViews.get(DefaultParamInitializer.WEIGHT_KEY);
    INDArray dz =
        memory.createUninitialized(
            ArrayType.BP_WORKING_MEM, DataType.FLOAT, new long[] {x.size(0), w.size(1)}, 'c');
    Gemm.forward(x, w, dz);
    allToGradient(NativeFloats.of(dz), NativeFloats.of(NativeFloats.rows(labels)), db);
    Gemm.weightGradient(x, dz, dw);
    gradientFinal.run();
    INDArray dx =
        memory.createUninitialized(ArrayType.ACTIVATION_GRAD, DataType.FLOAT, x.shape(), 'c');
    Gemm.inputGradient(dz, w, dx);
    Gradient gradient = new DefaultGradient();
    gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, dw);
    gradient.setGradientFor(DefaultParamInitializer.BIAS_KEY, db);
    return new Pair<>(gradient, dx);
  }

  /**
   * Returns the outputs of the last backward pass, sample after sample.
   *
   * @return empty if there was none, or the stock layer has computed it
   */
  Optional<float[]> outputs() {
    if (scores.length == 0) {
      return Optional.empty();
    }
    float[] outputs = new float[scores.length];
    float[] sample = new float[(int) getParam(DefaultParamInitializer.BIAS_KEY).length()];
    for (int first = 0; first < scores.length; first += sample.length) {
      System.arraycopy(scores, first, sample, 0, sample.length);
      toOutputs(sample);
      System.arraycopy(sample, 0, outputs, first, sample.length);
    }
    return Optional.of(outputs);
  }

  /** Returns the number of correct predictions in the last backward pass; -1 if unknown. */
  int correct() {
    return correct;
  }

  /**
   * Turns scores without bias into their gradient, in place, and sums the losses and the gradient
   * of the bias.
   */
  private void allToGradient(FloatBuffer unbiased, FloatBuffer targets, INDArray db) {
    int classes = (int) db.length();
    float[] bias = new float[classes];
    float[] sums = new float[classes];
    float[] z = new float[classes];
    float[] y = new float[classes];
    NativeFloats.of(getParam(DefaultParamInitializer.BIAS_KEY)).get(bias);
    loss = 0;
    correct = 0;
    if (scores.length != unbiased.capacity()) {
      scores = new float[unbiased.capacity()];
    }
    for (int first = 0; first < scores.length; first += classes) {
      unbiased.get(first, z);
      targets.get(first, y);
      for (int k = 0; k < classes; k++) {
        scores[first + k] = z[k] + bias[k];
      }
      correct += countCorrect(z, bias, y);
      loss += toGradient(z, bias, y);
      for (int k = 0; k < classes; k++) {
        sums[k] += z[k];
      }
      unbiased.put(first, z);
    }
    correct = Math.max(-1, correct);
    NativeFloats.of(db).put(sums);
  }

  @Override
  public double computeScore(double regularization, boolean training, LayerWorkspaceMgr memory) {
    if (Double.isNaN(loss)) {
      return super.computeScore(regularization, training, memory);
    }
    double samples = conf().isMiniBatch() ? getInputMiniBatchSize() : 1;
    score = loss / samples + regularization;
    loss = Double.NaN;
    return score;
  }
}
