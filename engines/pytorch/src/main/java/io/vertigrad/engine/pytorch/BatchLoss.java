package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/**
 * Computes the loss of a batch's outputs and its gradient. This is done in Java, because a
 * TorchScript module ends with its outputs.
 */
interface BatchLoss {

  /**
   * Creates the loss that a model is trained by.
   *
   * @param config the model
   * @param output the module's output, sample after sample; it is copied
   */
  static BatchLoss of(ModelConfig config, FloatBuffer output) {
    return switch (config.loss()) {
      case CROSS_ENTROPY ->
          new CrossEntropy(output, config.classes(), config.positions(), config.metric());
      case BINARY_CROSS_ENTROPY -> new BinaryCrossEntropy(output, config.classes());
      case MEAN_SQUARED_ERROR -> new SquaredError(output, config.classes());
    };
  }

  /**
   * Compares the outputs with the targets.
   *
   * @param topK number of most probable classes that count as correct in the second count; 0 to
   *     count none
   */
  Score score(Batch batch, int topK);

  /**
   * Compares the outputs with the targets and computes the gradient of the samples' loss.
   *
   * @param gradient receives as many values as there are outputs
   * @param scale 1 for the gradient of the sum, {@code 1 / samples} for that of the mean
   */
  void gradient(Batch batch, FloatBuffer gradient, float scale);

  /** Returns for each sample a probability for each class or label, or the values. */
  float[] probabilities();

  /** Returns the sum of the samples' losses of the last comparison. */
  double lossSum();

  /**
   * Returns the number of correct predictions of the last comparison; -1 when predictions are
   * neither correct nor wrong.
   */
  int correct();
}
