package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/**
 * One stage of a model on one thread: activations forward, gradients back.
 *
 * <p>A stage keeps nothing between calls but its parameters and the last gradient: the backward
 * pass computes the forward pass again from its input, so that a micro-batch in flight costs its
 * input only, and any number may be in flight in any order (Huang et al., "GPipe", 2019, section
 * 2.3). Batch normalisation uses the mean and variance of the micro-batch. Buffers handed out are
 * valid until the next call. All calls must come from the thread that built the stage.
 */
public interface StageModel extends AutoCloseable {

  /**
   * Says which stage this is and what goes in and out of it.
   *
   * @return the same for as long as the stage lives
   */
  StageSpec spec();

  /**
   * True in the last stage.
   *
   * @return true when it takes labels
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
   * A forward pass in training mode; not for the last stage.
   *
   * @param input {@code samples * spec().inputLength()} values
   * @param samples of the micro-batch
   * @return {@code samples * spec().outputLength()} values
   */
  FloatBuffer forward(float[] input, int samples);

  /**
   * A backward pass; not for the last stage.
   *
   * @param input as it was given to {@link #forward}
   * @param outputGradient of the sum of the samples' losses
   * @param samples of the micro-batch
   * @return gradient of the input likewise; empty in the first stage
   */
  FloatBuffer backward(float[] input, float[] outputGradient, int samples);

  /**
   * Forward, loss and backward in the last stage.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @return the samples' losses, and the gradient of their sum with respect to the input; empty in
   *     the first stage
   */
  StageLoss loss(float[] input, int[] labels);

  /**
   * The same for any targets.
   *
   * @param part {@code part.count() * spec().inputLength()} features, and what is to be told
   * @return the samples' losses, and the gradient of their sum with respect to the input; empty in
   *     the first stage
   */
  default StageLoss loss(Batch part) {
    return loss(part.features(), part.labels());
  }

  /**
   * How many answers of a sample are either right or wrong, where {@link StageLoss#correct} counts
   * them.
   *
   * @return 1 for a class
   */
  default int answers() {
    return 1;
  }

  /**
   * A forward pass in inference mode, without dropout and with running statistics; not for the last
   * stage.
   *
   * @param input {@code samples * spec().inputLength()} values
   * @param samples of the micro-batch
   * @return {@code samples * spec().outputLength()} values
   */
  FloatBuffer infer(float[] input, int samples);

  /**
   * A forward pass in inference mode in the last stage: how well it answers.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @return the samples, the sum of their losses, and how many were right
   */
  default Score score(float[] input, int[] labels) {
    return score(input, labels, 0);
  }

  /**
   * The same, with a count of the samples whose class is among the {@code topK} most probable.
   *
   * @param input {@code labels.length * spec().inputLength()} values
   * @param labels a class for each sample
   * @param topK 0 to count none
   * @return the samples, the sum of their losses, and how many were right
   */
  Score score(float[] input, int[] labels, int topK);

  /**
   * The same for any targets.
   *
   * @param part {@code part.count() * spec().inputLength()} features, and what is to be told
   * @param topK 0 to count none
   * @return the samples, the sum of their losses, and how many answers were right
   */
  default Score score(Batch part, int topK) {
    return score(part.features(), part.labels(), topK);
  }

  /**
   * Adds the last backward pass's share of a batch's gradient: trainable elements of the sum over
   * samples, divided by the batch once; statistics' differences weighted by the share of samples.
   *
   * @param sum in the stage's exchange order
   * @param batch samples of the whole batch
   */
  void addGradient(float[] sum, int batch);

  /**
   * The arrays of this stage.
   *
   * @return the layout of the stage's own vector
   */
  default ParameterLayout layout() {
    return spec().layout();
  }

  @Override
  void close();
}
