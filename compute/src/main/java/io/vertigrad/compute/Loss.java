package io.vertigrad.compute;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * What training makes small; the key {@code model.loss} of a job file.
 *
 * <p>A sample's loss is the mean over its positions, labels or values, and a batch's the mean over
 * its samples, as PyTorch's losses have it.
 */
public enum Loss {
  /** Softmax of the outputs and the negative logarithm of the right class's probability. */
  CROSS_ENTROPY("crossEntropy", Targets.Kind.CLASS),
  /** Sigmoid of each output and the negative log-likelihood of its label, which is 0 or 1. */
  BINARY_CROSS_ENTROPY("binaryCrossEntropy", Targets.Kind.LABELS),
  /** Squared difference of each output and its value. */
  MEAN_SQUARED_ERROR("meanSquaredError", Targets.Kind.VALUES);

  private final String key;
  private final Targets.Kind targets;

  Loss(String key, Targets.Kind targets) {
    this.key = key;
    this.targets = targets;
  }

  /**
   * How job files call it.
   *
   * @return such as {@code crossEntropy}
   */
  public String key() {
    return key;
  }

  /**
   * What a data set must have for it.
   *
   * @return the kind of targets
   */
  public Targets.Kind targets() {
    return targets;
  }

  /**
   * The losses in the order in which job files may name them.
   *
   * @return their keys
   */
  public static String[] keys() {
    return Arrays.stream(values()).map(Loss::key).toArray(String[]::new);
  }

  /**
   * The loss of this key.
   *
   * @param key as in a job file
   * @return the loss
   * @throws IllegalArgumentException listing the keys when there is none of this one
   */
  public static Loss of(String key) {
    return Arrays.stream(values())
        .filter(loss -> loss.key.equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "loss '%s' is not known, expected one of %s"
                        .formatted(key, Arrays.stream(keys()).collect(Collectors.joining(", ")))));
  }

  /**
   * The loss that fits targets of a kind.
   *
   * @param kind of the data set's targets
   * @return the loss
   */
  public static Loss of(Targets.Kind kind) {
    return Arrays.stream(values()).filter(loss -> loss.targets == kind).findFirst().orElseThrow();
  }
}
