package io.vertigrad.codecs;

import java.nio.FloatBuffer;
import java.util.Locale;

/**
 * How a gradient is made smaller than its numbers; deterministic, so that a run repeats bit for
 * bit.
 *
 * @param kind the rule
 * @param share of the elements that {@link Kind#TOPK} keeps, above 0 and at most 0.5
 */
public record Compression(Kind kind, double share) {

  /** Every element travels in the exchange type. */
  public static final Compression NONE = new Compression(Kind.NONE, 0.01);

  /** The largest share with which sparse elements take no more bytes than all of them. */
  public static final double LARGEST_SHARE = 0.5;

  /** Refuses a share that is not above 0, or that is too large to save anything. */
  public Compression {
    if (!(share > 0 && share <= LARGEST_SHARE)) {
      throw new IllegalArgumentException(
          "share is %s, expected above 0 and at most %s".formatted(share, LARGEST_SHARE));
    }
  }

  /** The rules there are. */
  public enum Kind {
    NONE,
    /** One byte per element and a scale per 1,024, rounded to the nearest. */
    INT8,
    /** The elements of largest magnitude. */
    TOPK
  }

  /**
   * True when there is something to do, and to be made up for by {@link ErrorFeedback}.
   *
   * @return false for {@link #NONE}
   */
  public boolean isOn() {
    return kind != Kind.NONE;
  }

  /**
   * Compresses what remains of {@code values} and consumes it.
   *
   * @param values from the buffer's position to its limit
   * @return a tensor of as many elements
   */
  public Tensor of(FloatBuffer values) {
    return switch (kind) {
      case NONE -> Tensor.copyOf(DataType.FLOAT32, values);
      case INT8 -> Tensor.int8(values);
      case TOPK -> Tensor.top(values, (int) Math.ceil(share * values.remaining()));
    };
  }

  /** Its name in job files. */
  @Override
  public String toString() {
    return kind.toString().toLowerCase(Locale.ROOT);
  }
}
