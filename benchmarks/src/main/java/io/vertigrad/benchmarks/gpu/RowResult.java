package io.vertigrad.benchmarks.gpu;

import io.vertx.core.json.JsonObject;
import java.util.OptionalDouble;

/**
 * What became of one row.
 *
 * @param row its definition
 * @param outcome whether it reached its aim
 * @param value the median of our figures, if it was measured
 * @param peer the median of PyTorch's figures
 * @param ratio the median of the turns' ratios; above 1 is faster than PyTorch
 * @param seconds time that the row took
 * @param remark what a reader should know, or why there is no figure
 */
record RowResult(
    CheckRow row,
    Outcome outcome,
    OptionalDouble value,
    OptionalDouble peer,
    OptionalDouble ratio,
    double seconds,
    String remark) {

  /** The outcomes of a row. */
  enum Outcome {
    PASSED("passed"),
    MISSED("MISSED"),
    /** It has no aim, or the aim cannot be judged here. */
    MEASURED("measured"),
    FAILED("FAILED"),
    SKIPPED("skipped"),
    NOT_RUN("not run");

    private final String text;

    Outcome(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /** Returns the result of a row without figures. */
  static RowResult without(CheckRow row, Outcome outcome, double seconds, String why) {
    OptionalDouble none = OptionalDouble.empty();
    return new RowResult(row, outcome, none, none, none, seconds, why);
  }

  /** Returns true when the check as a whole has failed because of this row. */
  boolean isWrong() {
    return outcome == Outcome.FAILED || outcome == Outcome.MISSED;
  }

  JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("group", row.group().title())
            .put("name", row.name())
            .put("unit", row.unit().toString())
            .put("aim", row.aim().toString())
            .put("outcome", outcome.toString())
            .put("seconds", seconds)
            .put("remark", remark);
    value.ifPresent(number -> json.put("value", number));
    peer.ifPresent(number -> json.put("peer", number));
    ratio.ifPresent(number -> json.put("ratio", number));
    return json;
  }
}
