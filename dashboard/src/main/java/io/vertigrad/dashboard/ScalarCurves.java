package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The history of the scalars of a run: one curve for each name and source, in the order in which
 * they appear. A value that is not finite ends a segment of its curve.
 */
final class ScalarCurves {

  static final int CURVES = 128;

  private final Map<Key, Series> curves = new LinkedHashMap<>();
  private final Map<Key, JsonObject> fresh = new LinkedHashMap<>();
  private long leftOut;

  private record Key(String name, String source) {}

  private static final class Series {

    private final Curve curve = new Curve("version", "value", "samples", "bytes");
    private long reports;
    private long notFinite;
    private long lastReports;
    private long lastNotFinite;

    /** Counts on where a source has begun again, such as a worker that has joined again. */
    void count(ScalarReported scalar) {
      boolean again = scalar.reports() < lastReports;
      reports += scalar.reports() - (again ? 0 : lastReports);
      notFinite += scalar.notFinite() - (again ? 0 : lastNotFinite);
      lastReports = scalar.reports();
      lastNotFinite = scalar.notFinite();
    }

    JsonObject counts(JsonObject json) {
      return json.put("reports", reports).put("notFinite", notFinite);
    }
  }

  /**
   * Adds a value.
   *
   * @param samples samples that all workers have trained on
   * @param bytes bytes that all workers have sent
   */
  void add(ScalarReported scalar, long samples, long bytes) {
    Key key = new Key(scalar.name(), scalar.source());
    Series series = curves.get(key);
    if (series == null && curves.size() < CURVES) {
      series = new Series();
      curves.put(key, series);
    }
    if (series == null) {
      leftOut++;
      return;
    }
    series.count(scalar);
    JsonObject point = new JsonObject();
    // The columns hold single precision.
    if (Math.abs(scalar.value()) <= Float.MAX_VALUE) {
      double[] values = {scalar.version(), scalar.value(), samples, bytes};
      int segment = series.curve.add(scalar.timeMillis(), values);
      point = series.curve.point(segment, scalar.timeMillis(), values);
    } else {
      series.curve.interrupt();
    }
    fresh.put(key, series.counts(point).put("name", scalar.name()).put("source", scalar.source()));
  }

  /** Makes the next value of each curve begin a new segment. */
  void interrupt() {
    curves.values().forEach(series -> series.curve.interrupt());
  }

  /** Returns the number of events of names and sources beyond the first {@value #CURVES}. */
  long leftOut() {
    return leftOut;
  }

  /**
   * Returns for each curve that has changed since the last call {@code name}, {@code source}, both
   * counts, and its newest point unless its newest value was not finite.
   */
  JsonArray takeFresh() {
    JsonArray taken = new JsonArray(new ArrayList<>(fresh.values()));
    fresh.clear();
    return taken;
  }

  /** Returns by name and source the columns of each curve, and the counts. */
  JsonObject toJson() {
    Map<String, Object> names = new TreeMap<>();
    curves.forEach(
        (key, series) ->
            ((JsonObject) names.computeIfAbsent(key.name(), name -> new JsonObject()))
                .put(key.source(), series.counts(series.curve.toJson())));
    return new JsonObject(names);
  }
}
