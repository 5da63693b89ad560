package io.vertigrad.compute;

import io.vertx.core.json.JsonObject;
import java.util.Optional;

/**
 * A part of a whole, such as an accuracy. Events and the figures of a stream have shares from 0 to
 * 1, tests and summaries have percent: this type keeps them apart.
 *
 * @param value from 0 to 1
 */
public record Share(double value) {

  /**
   * Reads a share from 0 to 1, such as one of {@code stream} in {@code summary.json}.
   *
   * @param json figures
   * @param key name of the share
   * @return empty if there is no such number
   */
  public static Optional<Share> of(JsonObject json, String key) {
    return json.getValue(key) instanceof Number number
        ? Optional.of(new Share(number.doubleValue()))
        : Optional.empty();
  }

  /**
   * Returns the share in percent.
   *
   * @return from 0 to 100
   */
  public double percent() {
    return 100 * value;
  }

  /**
   * Formats the share for display.
   *
   * @return such as {@code 91.94 %}
   */
  @Override
  public String toString() {
    return Metric.ACCURACY.figure(percent());
  }
}
