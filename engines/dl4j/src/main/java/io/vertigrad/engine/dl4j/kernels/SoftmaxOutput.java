package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;

/**
 * A dense layer with softmax, trained by the negative log-likelihood of one-hot labels: gradient
 * {@code p - y}, loss {@code -sum(y log p)}, in one pass over the scores.
 */
final class SoftmaxOutput extends FusedOutput {

  private static final long serialVersionUID = 1L;

  private SoftmaxOutput(Layer stock) {
    super(stock);
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static SoftmaxOutput of(Layer stock) {
    boolean same =
        isPlain(stock)
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.OutputLayer layer
            && layer.getActivationFn().getClass() == ActivationSoftmax.class
            && layer.getLossFn() instanceof LossMCXENT crossEntropy
            && crossEntropy.getWeights() == null;
    return same ? Replacement.adopt(new SoftmaxOutput(stock), stock) : null;
  }

  @Override
  int countCorrect(float[] z, float[] bias, float[] y) {
    return Softmax.isCorrect(z, bias, y) ? 1 : 0;
  }

  /** The gradient of a sample without a label is the softmax itself. */
  @Override
  void toOutputs(float[] scores) {
    float[] zeros = new float[scores.length];
    Softmax.toGradient(scores, zeros, zeros);
  }

  @Override
  double toGradient(float[] z, float[] bias, float[] y) {
    return Softmax.toGradient(z, bias, y);
  }
}
