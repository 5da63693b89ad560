package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;

/**
 * A dense layer with a sigmoid, trained by the negative log-likelihood of labels that are 0 or 1:
 * gradient {@code p - y}, loss {@code sum(log(1 + exp(z)) - y z)}, summed over a sample's labels as
 * in DL4J. Unlike the stock layer it does not clip, so a label far from its prediction still has a
 * gradient.
 */
final class SigmoidOutput extends FusedOutput {

  private static final long serialVersionUID = 1L;

  private SigmoidOutput(Layer stock) {
    super(stock);
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static SigmoidOutput of(Layer stock) {
    boolean same =
        isPlain(stock)
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.OutputLayer layer
            && layer.getActivationFn().getClass() == ActivationSigmoid.class
            && layer.getLossFn() instanceof LossBinaryXENT crossEntropy
            && crossEntropy.getWeights() == null;
    return same ? Replacement.adopt(new SigmoidOutput(stock), stock) : null;
  }

  @Override
  int countCorrect(float[] z, float[] bias, float[] y) {
    int countCorrect = 0;
    for (int k = 0; k < z.length; k++) {
      countCorrect += z[k] + bias[k] > 0 == y[k] > 0.5f ? 1 : 0;
    }
    return countCorrect;
  }

  @Override
  void toOutputs(float[] scores) {
    for (int k = 0; k < scores.length; k++) {
      scores[k] = (float) (1 / (1 + Math.exp(-scores[k])));
    }
  }

  @Override
  double toGradient(float[] z, float[] bias, float[] y) {
    double loss = 0;
    for (int k = 0; k < z.length; k++) {
      double score = z[k] + bias[k];
      // exp of a negative number does not overflow, and log1p keeps the precision of a small one.
      double e = Math.exp(-Math.abs(score));
      loss += Math.max(score, 0) - score * y[k] + Math.log1p(e);
      z[k] = (float) ((score < 0 ? e : 1) / (1 + e) - y[k]);
    }
    return loss;
  }
}
