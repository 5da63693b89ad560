package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/** The loss of a batch's outputs with its gradient; in Java, because a module ends with them. */
interface BatchLoss {

  /**
   * The loss that a model is trained by.
   *
   * @param config the model
   * @param output what its module has put out, sample after sample; it is copied
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
   * Compares the outputs with what was to be told.
   *
   * @param topK how many of the most probable classes count; 0 to count none
   */
  Score score(Batch batch, int topK);

  /**
   * Likewise, and leaves the gradient of the samples' mean loss, or of their sum.
   *
   * @param gradient takes as many values as there are outputs
   * @param scale 1 for the gradient of the sum, {@code 1 / samples} for that of the mean
   */
  void gradient(Batch batch, FloatBuffer gradient, float scale);

  /** Sample after sample a probability for each class or label, or the values. */
  float[] probabilities();

  /** The sum of the samples' losses, once they were compared. */
  double lossSum();

  /** How many answers were right, once they were compared; -1 where nothing is right or wrong. */
  int correct();
}
