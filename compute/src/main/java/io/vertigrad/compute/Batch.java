package io.vertigrad.compute;

import java.util.Arrays;
import java.util.List;

/**
 * Samples for one gradient step.
 *
 * @param count number of samples
 * @param features {@code count * product(shape)} normalised values, sample after sample
 * @param labels class of each sample, from 0, or one class for each position of each sample, sample
 *     after sample; empty where targets are no classes
 * @param targets labels of 0 or 1, or real values, sample after sample; empty where targets are
 *     classes
 * @param shape one sample's dimensions, channels first: {@code [1, 28, 28]}
 * @param epoch how often its source had been through its samples before, from 0
 */
public record Batch(
    int count, float[] features, int[] labels, float[] targets, List<Integer> shape, int epoch) {

  private static final float[] NO_TARGETS = {};

  /**
   * Samples with one class each.
   *
   * @param features {@code labels.length * product(shape)} normalised values, sample after sample
   * @param labels class of each sample, from 0
   * @param shape one sample's dimensions, channels first
   * @param epoch how often its source had been through its samples before, from 0
   */
  public Batch(float[] features, int[] labels, List<Integer> shape, int epoch) {
    this(labels.length, features, labels, NO_TARGETS, shape, epoch);
  }

  /**
   * What is to be told of some of the samples, with other features, such as what a stage of a
   * pipeline takes in.
   *
   * @param from first sample
   * @param to the sample after the last
   * @param input features of those samples
   * @param inputShape one sample's dimensions of them
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
   * The same targets with other features.
   *
   * @param input features of all samples
   * @param inputShape one sample's dimensions of them
   * @return a batch of as many samples
   */
  public Batch with(float[] input, List<Integer> inputShape) {
    return new Batch(count, input, labels, targets, inputShape, epoch);
  }
}
