package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import java.util.Optional;

/**
 * One stage of a model on one thread: activations forward, gradients backward.
 *
 * <p>A stage stores only its parameters and the last gradient between calls. The backward pass
 * computes the forward pass again from its input, so a micro-batch in flight costs the memory of
 * its input only, and any number may be in flight in any order (Huang et al., "GPipe", 2019,
 * section 2.3). Batch normalisation uses the mean and variance of the micro-batch. Returned buffers
 * are valid until the next call. All calls must come from the thread that built the stage.
 */
public interface StageModel extends AutoCloseable {

  /**
   * Describes this stage: its index, its layers, and the shapes of its input and output.
   *
   * @return the same for the lifetime of the stage
   */
  StageSpec spec();

  /**
   * Returns true in the last stage.
   *
   * @return true when the stage takes labels
   */
  boolean hasLoss();

  /**
   * Copies parameters {@code [first, first + destination.remaining())} out; fills the buffer.
   *
   * @param first element of the stage's own vector
   * @param destination from its position to its limit
   */
  void readParameters(int first, FloatBuffer destination);

  /**
   * Copies parameters {@code [first, first + source.remaining())} in; consumes the buffer.
   *
   * @param first element of the stage's own vector
   * @param source from its position to its limit
   */
  void writeParameters(int first, FloatBuffer source);

  /**
   * Runs a forward pass in training mode; not for the last stage.
   *
   * @param input {@code samples * spec().inputLength()} values
   * @param samples number of samples of the micro-batch
   * @return {@code samples * spec().outputLength()} values
   */
  FloatBuffer forward(float[] input, int samples);

  /**
   * Runs a backward pass; not for the last stage.
   *
   * @param input the same values that {@link #forward} received
   * @param outputGradient gradient of the sum of the samples' losses with respect to the output
   * @param samples number of samples of the micro-batch
   * @return gradient of that sum with respect to the input; empty in the first stage
   */
  FloatBuffer backward(float[] input, float[] outputGradient, int samples);

  /**
   * Runs forward pass, loss and backward pass in the last stage, for samples with one class each.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @return the samples' losses, and the gradient of their sum with respect to the input; empty in
   *     the first stage
   */
  StageLoss loss(float[] input, int[] labels);

  /**
   * Runs forward pass, loss and backward pass in the last stage, for any targets.
   *
   * @param part {@code part.count() * spec().inputLength()} features, and the targets
   * @return the samples' losses, and the gradient of their sum with respect to the input; empty in
   *     the first stage
   */
  default StageLoss loss(Batch part) {
    return loss(part.features(), part.labels());
  }

  /**
   * Returns the number of predictions per sample that {@link StageLoss#correct} counts.
   *
   * @return 1 for a class
   */
  default int answers() {
    return 1;
  }

  /**
   * Runs a forward pass in inference mode, without dropout and with running statistics; not for the
   * last stage.
   *
   * @param input {@code samples * spec().inputLength()} values
   * @param samples number of samples of the micro-batch
   * @return {@code samples * spec().outputLength()} values
   */
  FloatBuffer infer(float[] input, int samples);

  /**
   * Runs a forward pass in inference mode in the last stage and scores the predictions.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @return the number of samples, the sum of their losses, and the number of correct predictions
   */
  default Score score(float[] input, int[] labels) {
    return score(input, labels, 0);
  }

  /**
   * Runs a forward pass in inference mode in the last stage and also counts the samples whose class
   * is among the {@code topK} most probable.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @param topK 0 to count none
   * @return the number of samples, the sum of their losses, and the numbers of correct predictions
   */
  Score score(float[] input, int[] labels, int topK);

  /**
   * Scores samples like {@link #score(float[], int[], int)}, for any targets.
   *
   * @param part {@code part.count() * spec().inputLength()} features, and the targets
   * @param topK 0 to count none
   * @return the number of samples, the sum of their losses, and the numbers of correct predictions
   */
  default Score score(Batch part, int topK) {
    return score(part.features(), part.labels(), topK);
  }

  /**
   * Returns the predictions of real values in the last stage, in inference mode.
   *
   * @param part {@code part.count() * spec().inputLength()} features
   * @return the values of each sample; empty if this engine does not give them
   */
  default Optional<float[]> values(Batch part) {
    return Optional.empty();
  }

  /**
   * Adds the last backward pass's share of a batch's gradient. Trainable elements are the sum over
   * samples, to be divided once by the batch size. Statistics are differences weighted by the
   * fraction of samples.
   *
   * @param sum in the stage's exchange order
   * @param batch number of samples of the whole batch
   */
  void addGradient(float[] sum, int batch);

  /**
   * Returns the arrays of this stage.
   *
   * @return the layout of the stage's own vector
   */
  default ParameterLayout layout() {
    return spec().layout();
  }

  @Override
  void close();
}
