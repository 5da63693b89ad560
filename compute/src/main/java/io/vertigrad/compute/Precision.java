package io.vertigrad.compute;

import java.util.Arrays;

/**
 * The precision of a model's forward and backward pass; the key {@code model.precision} of a job
 * file. Parameters, gradients, losses and the optimizer are always float32.
 */
public enum Precision {
  /** All operations compute in single precision. */
  FLOAT32("float32"),
  /**
   * Matrix products and convolutions compute in bfloat16, as by PyTorch's autocast; operations that
   * need more precision compute in float32.
   */
  BFLOAT16("bfloat16");

  private final String key;

  Precision(String key) {
    this.key = key;
  }

  /**
   * Returns the name used in job files.
   *
   * @return such as {@code bfloat16}
   */
  public String key() {
    return key;
  }

  /**
   * Returns the names of all precisions in job files.
   *
   * @return their keys, in declaration order
   */
  public static String[] keys() {
    return Arrays.stream(values()).map(Precision::key).toArray(String[]::new);
  }

  /**
   * Returns the precision of this key.
   *
   * @param key as in a job file
   * @return the precision
   * @throws IllegalArgumentException when no precision has this key
   */
  public static Precision of(String key) {
    return Arrays.stream(values())
        .filter(precision -> precision.key.equals(key))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "precision '%s' is not known, expected one of %s"
                        .formatted(key, String.join(", ", keys()))));
  }
}
