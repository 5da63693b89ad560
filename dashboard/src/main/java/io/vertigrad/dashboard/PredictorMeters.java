package io.vertigrad.dashboard;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes the figures of predictors in the text format of Prometheus. Their latencies were counted
 * elsewhere, which a meter of Micrometer cannot take over as a histogram.
 */
final class PredictorMeters {

  private static final double MICROS = 1e6;
  private static final double MILLIS = 1e3;
  private static final String LATENCY = "vertigrad_predictor_latency_seconds";

  /** A series: its type, the key of its value in the state, and a divisor. */
  private record Series(String name, String type, String key, double divisor) {}

  private static final List<Series> SERIES =
      List.of(
          new Series("version", "gauge", "version", 1),
          new Series("age_seconds", "gauge", "ageMillis", MILLIS),
          new Series("waiting", "gauge", "waiting", 1),
          new Series("swaps_total", "counter", "swaps", 1),
          new Series("requests_total", "counter", "requests", 1),
          new Series("predictions_total", "counter", "predictions", 1),
          new Series("passes_total", "counter", "passes", 1),
          new Series("overloaded_total", "counter", "overloaded", 1),
          new Series("invalid_total", "counter", "invalid", 1));

  private PredictorMeters() {}

  /** Returns the series of all predictors; empty if there are none. */
  static String text(String job, JobView view) {
    Map<String, JsonObject> predictors = new TreeMap<>();
    view.state()
        .getJsonObject("predictors", new JsonObject())
        .forEach(
            entry -> {
              if (entry.getValue() instanceof JsonObject found
                  && entry.getKey().matches("\\w{1,64}")) {
                predictors.put(entry.getKey(), found);
              }
            });
    StringBuilder text = new StringBuilder();
    if (predictors.isEmpty()) {
      return "";
    }
    for (Series series : SERIES) {
      String name = "vertigrad_predictor_" + series.name();
      text.append("# TYPE %s %s\n".formatted(name, series.type()));
      predictors.forEach(
          (id, found) ->
              line(text, name, labels(job, id), number(found, series.key()) / series.divisor()));
    }
    text.append("# TYPE %s histogram\n".formatted(LATENCY));
    predictors.forEach((id, found) -> histogram(text, labels(job, id), found));
    return text.toString();
  }

  private static void histogram(StringBuilder text, String labels, JsonObject found) {
    JsonObject latencies =
        found.getValue("latencies") instanceof JsonObject counts ? counts : new JsonObject();
    List<Integer> bounds = new ArrayList<>();
    latencies.fieldNames().stream()
        .filter(bound -> bound.matches("\\d{1,10}"))
        .forEach(bound -> bounds.add((int) Math.min(Long.parseLong(bound), Integer.MAX_VALUE)));
    bounds.sort(null);
    double sum = 0;
    for (int bound : bounds) {
      sum += number(latencies, Integer.toString(bound));
      String limit =
          bound == Integer.MAX_VALUE ? "+Inf" : String.format(Locale.ROOT, "%s", bound / MICROS);
      line(text, LATENCY + "_bucket", labels + ",le=\"" + limit + "\"", sum);
    }
    line(text, LATENCY + "_sum", labels, number(found, "latencyMicrosSum") / MICROS);
    line(text, LATENCY + "_count", labels, sum);
  }

  private static String labels(String job, String id) {
    return "job_name=\"%s\",predictor=\"%s\"".formatted(job, id);
  }

  private static void line(StringBuilder text, String name, String labels, double value) {
    text.append(name).append('{').append(labels).append("} ").append(value).append('\n');
  }

  private static double number(JsonObject found, String key) {
    return found.getValue(key) instanceof Number number ? number.doubleValue() : Double.NaN;
  }
}
