package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import org.bytedeco.pytorch.Tensor;

/**
 * Computes the loss of a model's outputs, its gradient and the counts of correct predictions.
 * Belongs to the model's thread.
 */
interface Losses extends AutoCloseable {

  /** Creates the losses of a model, where its outputs are. */
  static Losses of(ModelConfig config, Place place) {
    return place.hasTensorLosses() ? new TensorLosses(config, place) : new JavaLosses(config);
  }

  /**
   * Compares outputs with targets and returns the gradient that a backward pass starts from. {@link
   * #lossSum} and {@link #correct} belong to this comparison then.
   *
   * @param output the module's output, sample after sample
   * @param batch the targets in Java
   * @param targets the same targets on the model's device; null for a loss in Java
   * @param scale 1 for the gradient of the sum over samples, {@code 1 / samples} for the mean
   * @return a tensor of the output's shape; it belongs to the caller's scope
   */
  Tensor gradient(Tensor output, Batch batch, Tensor targets, float scale);

  /** Returns the sum of the samples' losses of the last gradient. May wait for the device. */
  double lossSum();

  /**
   * Returns the number of correct predictions of the last gradient; -1 when predictions are neither
   * correct nor wrong. May wait for the device.
   */
  int correct();

  /**
   * Compares outputs with targets.
   *
   * @param topK number of most probable classes that count as correct in the second count; 0 to
   *     count none
   */
  Score score(Tensor output, Batch batch, Tensor targets, int topK);

  /** Returns for each sample a probability for each class or label, or the values. */
  float[] probabilities(Tensor output);

  @Override
  void close();
}
