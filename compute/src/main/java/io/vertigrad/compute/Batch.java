package io.vertigrad.compute;

import java.util.Arrays;
import java.util.List;

/**
 * Samples for one gradient step.
 *
 * @param count number of samples
 * @param features {@code count * product(shape)} normalised values, sample after sample
 * @param labels class of each sample, from 0, or one class for each position of each sample, sample
 *     after sample; empty when the targets are not classes
 * @param targets labels of 0 or 1, or real values, sample after sample; empty when the targets are
 *     classes
 * @param shape one sample's dimensions, channels first: {@code [1, 28, 28]}
 * @param epoch number of complete passes that the source had made over its samples before, from 0
 */
public record Batch(
    int count, float[] features, int[] labels, float[] targets, List<Integer> shape, int epoch) {

  private static final float[] NO_TARGETS = {};

  /**
   * Creates a batch of samples with one class each.
   *
   * @param features {@code labels.length * product(shape)} normalised values, sample after sample
   * @param labels class of each sample, from 0
   * @param shape one sample's dimensions, channels first
   * @param epoch number of complete passes that the source had made over its samples before, from 0
   */
  public Batch(float[] features, int[] labels, List<Integer> shape, int epoch) {
    this(labels.length, features, labels, NO_TARGETS, shape, epoch);
  }

  /**
   * Returns a range of samples with their targets and with other features, for example the input of
   * a pipeline stage.
   *
   * @param from index of the first sample
   * @param to index after the last sample
   * @param input features of those samples
   * @param inputShape one sample's dimensions in {@code input}
   * @return a batch of {@code to - from} samples
   */
  public Batch part(int from, int to, float[] input, List<Integer> inputShape) {
    return new Batch(
        to - from,
        input,
        Arrays.copyOfRange(labels, from * (labels.length / count), to * (labels.length / count)),
        targets.length == 0
            ? NO_TARGETS
            : Arrays.copyOfRange(
                targets, from * (targets.length / count), to * (targets.length / count)),
        inputShape,
        epoch);
  }

  /**
   * Returns this batch with other features.
   *
   * @param input features of all samples
   * @param inputShape one sample's dimensions in {@code input}
   * @return a batch of the same number of samples
   */
  public Batch with(float[] input, List<Integer> inputShape) {
    return new Batch(count, input, labels, targets, inputShape, epoch);
  }
}
