package io.vertigrad.compute.data;

import java.math.BigDecimal;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Finds two distinct values of one column that become the same number, because float32 has 24
 * significant bits and double 53. Two fractions that differ by very little of the column's range
 * are not reported: no model could use the difference. Not thread-safe; keeps all different values.
 */
public final class MergedValues {

  /** Share of a column's range below which a difference of fractions is rounding. */
  private static final double NOISE = 1e-5;

  /** A text of no more characters has at most 15 digits, and its double belongs to it alone. */
  private static final int EXACT_LENGTH = 15;

  /** Longer texts are not compared: the time grows with the square of their length. */
  private static final int LONGEST = 1_000;

  private final boolean isDouble;
  private final Map<Double, Seen> values = new HashMap<>();
  private double least = Double.POSITIVE_INFINITY;
  private double most = Double.NEGATIVE_INFINITY;
  private String first;
  private String second;
  private double same;
  private double gap = -1;
  private boolean isWhole;

  private record Seen(String text, double value) {}

  /**
   * Creates the search for one column.
   *
   * @param isDouble whether the values are used as doubles; false if they become float32
   */
  public MergedValues(boolean isDouble) {
    this.isDouble = isDouble;
  }

  /**
   * Adds a value.
   *
   * @param text the number as it was written, with a decimal point
   * @param value the double nearest to it
   */
  public void add(String text, double value) {
    least = Math.min(least, value);
    most = Math.max(most, value);
    double used = isDouble ? value : (float) value;
    if (value == 0 || text.length() > LONGEST) {
      return;
    }
    Seen other = values.putIfAbsent(used, new Seen(text, value));
    if (other == null
        || other.text().equals(text)
        || other.value() == value
            && text.length() <= EXACT_LENGTH
            && other.text().length() <= EXACT_LENGTH) {
      return;
    }
    BigDecimal found = new BigDecimal(text.strip());
    BigDecimal before = new BigDecimal(other.text().strip());
    double difference = found.subtract(before).abs().doubleValue();
    if (found.compareTo(before) != 0 && difference > gap) {
      gap = difference;
      first = other.text().strip();
      second = text.strip();
      same = used;
      isWhole = isWhole(first) && isWhole(second);
    }
  }

  /** Returns whether a text looks like a count, an instant or the number of something. */
  private static boolean isWhole(String text) {
    return text.indexOf('e') < 0
        && text.indexOf('E') < 0
        && new BigDecimal(text).stripTrailingZeros().scale() <= 0;
  }

  /** Returns both values and the number that they become; empty if there are no such values. */
  public Optional<String> describe() {
    if (gap < 0 || !isWhole && gap <= NOISE * (most - least)) {
      return Optional.empty();
    }
    return Optional.of(
        "%s and %s become the same %s, %s"
            .formatted(
                first,
                second,
                isDouble ? "float64" : "float32",
                BigDecimal.valueOf(same).stripTrailingZeros().toPlainString()));
  }
}
