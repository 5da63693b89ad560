package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.observability.UpdateOutliers;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * The history of the scalars of a run: one curve for each name and source, in the order in which
 * they appear. A value that is not finite ends a segment of its curve.
 */
final class ScalarCurves {

  static final int CURVES = 128;

  /** Scalars that are 0 or 1 for each worker: their shares are shown, and not their course. */
  private static final Set<String> UNDRAWN =
      Set.of(UpdateOutliers.LEFT_OUT, UpdateOutliers.EXPELLED);

  private final String[] columns;
  private final Map<Key, Series> curves = new LinkedHashMap<>();
  private final Map<Key, JsonObject> fresh = new LinkedHashMap<>();
  private long leftOut;

  private record Key(String name, String source) {}

  private static final class Series {

    private final Curve curve;
    private double last;
    private long reports;
    private long notFinite;
    private long lastReports;
    private long lastNotFinite;

    Series(String... columns) {
      curve = new Curve(columns);
    }

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

    JsonObject save() {
      return counts(curve.save())
          .put("last", Double.isFinite(last) ? last : null)
          .put("lastReports", lastReports)
          .put("lastNotFinite", lastNotFinite);
    }

    Series goOn(JsonObject saved) {
      curve.goOn(saved);
      Double known = saved.getDouble("last");
      last = known == null ? Double.NaN : known;
      reports = saved.getLong("reports");
      notFinite = saved.getLong("notFinite");
      lastReports = saved.getLong("lastReports");
      lastNotFinite = saved.getLong("lastNotFinite");
      return this;
    }
  }

  /**
   * Creates curves without a point.
   *
   * @param traffic names of the columns besides {@code version} and {@code value}
   */
  ScalarCurves(String... traffic) {
    columns =
        Stream.concat(Stream.of("version", "value"), Stream.of(traffic)).toArray(String[]::new);
  }

  /**
   * Adds a value.
   *
   * @param traffic a value for each other column
   */
  void add(ScalarReported scalar, double... traffic) {
    if (UNDRAWN.contains(scalar.name())) {
      return;
    }
    Key key = new Key(scalar.name(), scalar.source());
    Series series = curves.get(key);
    if (series == null && curves.size() < CURVES) {
      series = new Series(columns);
      curves.put(key, series);
    }
    if (series == null) {
      leftOut++;
      return;
    }
    series.count(scalar);
    series.last = scalar.value();
    JsonObject point = new JsonObject();
    // The columns hold single precision.
    if (Math.abs(scalar.value()) <= Float.MAX_VALUE) {
      double[] values =
          DoubleStream.concat(
                  DoubleStream.of(scalar.version(), scalar.value()), DoubleStream.of(traffic))
              .toArray();
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
    return toJson(series -> series.counts(series.curve.toJson()));
  }

  /** Returns by name and source what {@link #goOn} needs. */
  JsonObject save() {
    return toJson(Series::save);
  }

  /**
   * Goes on with curves of the same columns; for curves that are empty.
   *
   * @param saved what {@link #save} has returned
   * @throws RuntimeException when it is damaged
   */
  void goOn(JsonObject saved) {
    for (String name : saved.fieldNames()) {
      JsonObject sources = saved.getJsonObject(name);
      for (String source : sources.fieldNames()) {
        Series series = new Series(columns).goOn(sources.getJsonObject(source));
        curves.put(new Key(name, source), series);
      }
    }
  }

  /**
   * Returns the last value of each scalar: the mean over its sources, NaN if one of them ended with
   * a value that is not finite.
   */
  Map<String, Double> last() {
    return curves.entrySet().stream()
        .collect(
            Collectors.groupingBy(
                curve -> curve.getKey().name(),
                TreeMap::new,
                Collectors.averagingDouble(curve -> curve.getValue().last)));
  }

  private JsonObject toJson(Function<Series, JsonObject> form) {
    Map<String, Object> names = new TreeMap<>();
    curves.forEach(
        (key, series) ->
            ((JsonObject) names.computeIfAbsent(key.name(), name -> new JsonObject()))
                .put(key.source(), form.apply(series)));
    return new JsonObject(names);
  }
}
