package io.vertigrad.compute;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * The function that training minimises; the key {@code model.loss} of a job file.
 *
 * <p>A sample's loss is the mean over its positions, labels or values. A batch's loss is the mean
 * over its samples, as in PyTorch.
 */
public enum Loss {
  /** Softmax of the outputs, then the negative logarithm of the correct class's probability. */
  CROSS_ENTROPY("crossEntropy", Targets.Kind.CLASS),
  /** Sigmoid of each output, then the negative log-likelihood of its label, which is 0 or 1. */
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
   * Returns the name used in job files.
   *
   * @return such as {@code crossEntropy}
   */
  public String key() {
    return key;
  }

  /**
   * Returns the kind of targets that a data set must have for this loss.
   *
   * @return the kind of targets
   */
  public Targets.Kind targets() {
    return targets;
  }

  /**
   * Returns the names of all losses in job files.
   *
   * @return their keys, in declaration order
   */
  public static String[] keys() {
    return Arrays.stream(values()).map(Loss::key).toArray(String[]::new);
  }

  /**
   * Returns the loss of this key.
   *
   * @param key as in a job file
   * @return the loss
   * @throws IllegalArgumentException listing the keys when no loss has this key
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
   * Returns the loss that fits targets of a kind.
   *
   * @param kind of the data set's targets
   * @return the loss
   */
  public static Loss of(Targets.Kind kind) {
    return Arrays.stream(values()).filter(loss -> loss.targets == kind).findFirst().orElseThrow();
  }
}
