package io.vertigrad.benchmarks.report;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.OptionalDouble;

/**
 * One line of a report.
 *
 * @param name what was measured, for example {@code sync, 2 k parameters, 2 workers, processes}
 * @param unit unit of the measurements
 * @param measured the measurements
 * @param ratio this row's median divided by the median of the row it is compared with, if any
 * @param over that row's name; empty without a ratio
 * @param aim what the figure or the ratio should reach, as text; empty without an aim
 */
public record BenchmarkRow(
    String name, String unit, Repetitions measured, OptionalDouble ratio, String over, String aim) {

  /** Returns a row without a ratio. */
  public static BenchmarkRow of(String name, String unit, Repetitions measured) {
    return new BenchmarkRow(name, unit, measured, OptionalDouble.empty(), "", "");
  }

  /** Returns the same row as a ratio over another one measured in the same run and unit. */
  public BenchmarkRow over(BenchmarkRow limit) {
    double quotient = measured.median() / limit.measured.median();
    return new BenchmarkRow(name, unit, measured, OptionalDouble.of(quotient), limit.name, aim);
  }

  public BenchmarkRow withAim(String words) {
    return new BenchmarkRow(name, unit, measured, ratio, over, words);
  }

  JsonObject toJson() {
    JsonArray values = new JsonArray();
    Arrays.stream(measured.values()).limit(100).forEach(values::add);
    JsonObject json =
        new JsonObject()
            .put("name", name)
            .put("unit", unit)
            .put("repetitions", measured.count())
            .put("median", measured.median())
            .put("min", measured.min())
            .put("max", measured.max())
            .put("p99", measured.percentile(99))
            .put("values", values);
    ratio.ifPresent(quotient -> json.put("ratio", quotient).put("over", over));
    return aim.isEmpty() ? json : json.put("aim", aim);
  }
}
