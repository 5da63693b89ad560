package io.vertigrad.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

/**
 * Repeated measurements of one thing, in the order in which they were taken.
 *
 * @param values at least one, all in the same unit
 */
public record Repetitions(double[] values) {

  private static final double TAIL = 0.025;

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

  /**
   * Returns the value below which {@code percent} of the measurements lie, interpolated linearly.
   */
  public double percentile(double percent) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double place = percent / 100 * (sorted.length - 1);
    int below = (int) Math.floor(place);
    int above = (int) Math.ceil(place);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  /**
   * Returns the interval that contains the median with 95 % certainty, for any distribution, by the
   * ranks of a sign test. Fewer than 6 values are too few for that; then it is the least and the
   * most.
   */
  public Repetitions medianInterval() {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int lowest = 0;
    double chance = Math.pow(0.5, sorted.length);
    double tail = chance;
    for (int rank = 1; rank <= sorted.length; rank++) {
      chance *= (sorted.length - rank + 1.0) / rank;
      tail += chance;
      if (tail > TAIL) {
        break;
      }
      lowest = rank;
    }
    return new Repetitions(new double[] {sorted[lowest], sorted[sorted.length - 1 - lowest]});
  }

  /** Returns the same measurements in another unit. */
  public Repetitions times(double factor) {
    return new Repetitions(Arrays.stream(values).map(value -> value * factor).toArray());
  }
}
