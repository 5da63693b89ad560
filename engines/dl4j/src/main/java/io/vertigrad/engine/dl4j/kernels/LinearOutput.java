package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/**
 * A dense layer without an activation, trained by the mean squared error of its outputs: loss
 * {@code mean (z - y)^2}, gradient {@code 2 (z - y) / outputs}.
 */
final class LinearOutput extends FusedOutput {

  private static final long serialVersionUID = 1L;

  private LinearOutput(Layer stock) {
    super(stock);
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static LinearOutput of(Layer stock) {
    boolean same =
        isPlain(stock)
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.OutputLayer layer
            && layer.getActivationFn().getClass() == ActivationIdentity.class
            && layer.getLossFn().getClass() == LossMSE.class
            && ((LossMSE) layer.getLossFn()).getWeights() == null;
    return same ? Replacement.adopt(new LinearOutput(stock), stock) : null;
  }

  @Override
  int countCorrect(float[] z, float[] bias, float[] y) {
    return -1;
  }

  @Override
  void toOutputs(float[] scores) {}

  @Override
  double toGradient(float[] z, float[] bias, float[] y) {
    double sum = 0;
    for (int k = 0; k < z.length; k++) {
      double difference = (double) z[k] + bias[k] - y[k];
      sum += difference * difference;
      z[k] = (float) (2 * difference / z.length);
    }
    return sum / z.length;
  }
}
