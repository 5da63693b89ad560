package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.report.BenchmarkTable;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * What a row should reach.
 *
 * @param kind what is compared with the bound
 * @param bound the bound itself
 */
record Aim(Kind kind, double bound) {

  /** A row that is only reported. */
  static final Aim NONE = new Aim(Kind.NONE, 0);

  enum Kind {
    NONE,
    VALUE_AT_MOST,
    RATIO_AT_LEAST
  }

  static Aim valueAtMost(double bound) {
    return new Aim(Kind.VALUE_AT_MOST, bound);
  }

  static Aim ratioAtLeast(double bound) {
    return new Aim(Kind.RATIO_AT_LEAST, bound);
  }

  /** Returns true when the aim is about speed, which a rehearsal on the processor cannot judge. */
  boolean isOfSpeed() {
    return kind == Kind.RATIO_AT_LEAST;
  }

  /** Returns true when the figures reach the aim; a missing ratio never does. */
  boolean reached(double value, OptionalDouble ratio) {
    return switch (kind) {
      case NONE -> true;
      case VALUE_AT_MOST -> value <= bound;
      case RATIO_AT_LEAST -> ratio.isPresent() && ratio.getAsDouble() >= bound;
    };
  }

  /** Formats a figure; small ones as a power of ten, because distances are small. */
  static String number(double value) {
    return value != 0 && Math.abs(value) < 0.01
        ? String.format(Locale.ROOT, "%.1e", value)
        : BenchmarkTable.number(value);
  }

  @Override
  public String toString() {
    return switch (kind) {
      case NONE -> "";
      case VALUE_AT_MOST -> "at most " + number(bound);
      case RATIO_AT_LEAST -> String.format(Locale.ROOT, "ratio at least %.2f", bound);
    };
  }
}
