package io.vertigrad.codecs;

import java.nio.FloatBuffer;
import java.util.Locale;

/**
 * The rule by which a gradient is compressed. It is deterministic, so a run repeats bit for bit.
 *
 * @param kind the rule
 * @param share fraction of the elements that {@link Kind#TOPK} keeps, above 0 and at most 0.5
 */
public record Compression(Kind kind, double share) {

  /** No compression: every element travels in the exchange type. */
  public static final Compression NONE = new Compression(Kind.NONE, 0.01);

  /** The largest share at which sparse elements take no more bytes than all elements. */
  public static final double LARGEST_SHARE = 0.5;

  /** Checks that the share is above 0 and small enough to save bytes. */
  public Compression {
    if (!(share > 0 && share <= LARGEST_SHARE)) {
      throw new IllegalArgumentException(
          "share is %s, expected above 0 and at most %s".formatted(share, LARGEST_SHARE));
    }
  }

  /** The available rules. */
  public enum Kind {
    NONE,
    /** Rounds every element to one byte; 1,024 elements share a scale. */
    INT8,
    /** Sends the elements of largest magnitude only. */
    TOPK,
    /** Rounds every element to four bits; 128 elements share a scale. */
    INT4,
    /** Sends the sign of every element; 1,024 elements share a magnitude. */
    SIGN
  }

  /**
   * Returns true when gradients lose information, which {@link ErrorFeedback} then makes up for.
   *
   * @return false for {@link #NONE}
   */
  public boolean isOn() {
    return kind != Kind.NONE;
  }

  /**
   * Compresses the remaining elements of {@code values} and consumes them.
   *
   * @param values from the buffer's position to its limit
   * @return a tensor with the same number of elements
   */
  public Tensor of(FloatBuffer values) {
    return switch (kind) {
      case NONE -> Tensor.copyOf(DataType.FLOAT32, values);
      case INT8 -> Tensor.int8(values);
      case TOPK -> Tensor.top(values, (int) Math.ceil(share * values.remaining()));
      case INT4 -> Tensor.int4(values);
      case SIGN -> Tensor.signs(values);
    };
  }

  /** Returns the name used in job files. */
  @Override
  public String toString() {
    return kind.toString().toLowerCase(Locale.ROOT);
  }
}
