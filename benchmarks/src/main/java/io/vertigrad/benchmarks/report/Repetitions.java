package io.vertigrad.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

/**
 * Repeated measurements of one thing, in the order they were taken.
 *
 * @param values at least one, all in the same unit
 */
public record Repetitions(double[] values) {

  public Repetitions {
    if (values.length == 0) {
      throw new IllegalArgumentException("no repetitions: expected at least one measurement");
    }
    values = values.clone();
  }

  public static Repetitions of(Collection<Double> values) {
    return new Repetitions(values.stream().mapToDouble(Double::doubleValue).toArray());
  }

  public int count() {
    return values.length;
  }

  public double median() {
    return percentile(50);
  }

  public double min() {
    return Arrays.stream(values).min().orElseThrow();
  }

  public double max() {
    return Arrays.stream(values).max().orElseThrow();
  }

  /** The value below which {@code percent} of the measurements lie, interpolated linearly. */
  public double percentile(double percent) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double place = percent / 100 * (sorted.length - 1);
    int below = (int) Math.floor(place);
    int above = (int) Math.ceil(place);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  /** The same measurements in another unit. */
  public Repetitions times(double factor) {
    return new Repetitions(Arrays.stream(values).map(value -> value * factor).toArray());
  }
}
