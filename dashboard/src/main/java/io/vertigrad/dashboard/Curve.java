package io.vertigrad.dashboard;

import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * The history of a worker, a node or a scalar as columns of numbers, with a limit on the number of
 * points. When it is full, neighbouring points are averaged in pairs, and each later point averages
 * twice as many reports.
 *
 * <p>The points form segments. A new segment begins after {@link #interrupt}, and after a gap that
 * is long compared with the usual interval. Nothing was measured between two segments, so no line
 * connects them and no average spans them.
 */
final class Curve {

  public static final int CAPACITY = 480;

  /** A shorter gap never ends a segment. */
  public static final long SHORTEST_GAP_MILLIS = 2_000;

  private static final String OPEN = "open";
  private static final int USUAL_INTERVALS = 8;
  private static final int KNOWN_INTERVALS = 3;
  private static final Set<String> FRACTIONS =
      Stream.concat(
              Stream.of("loss", "samplesPerSecond", "value"),
              Stream.of(Vital.values())
                  .filter(vital -> !vital.unit().equals(Vitals.BYTES))
                  .map(Vital::toString))
          .collect(Collectors.toUnmodifiableSet());

  private final List<String> names;
  private final double[][] columns;
  private final double[] segments = new double[CAPACITY];
  private final double[] sums;
  private int size;
  private int perPoint = 1;
  private int summed;
  private int segment;
  private long lastMillis;
  private long intervals;
  private long intervalsMillis;

  /** Creates an empty curve with a column {@code timeMillis} and these. */
  Curve(String... others) {
    names = Stream.concat(Stream.of("timeMillis"), Stream.of(others)).toList();
    columns = new double[names.size()][CAPACITY];
    sums = new double[names.size()];
  }

  /** Makes the next point begin a new segment; does nothing before the first point. */
  public void interrupt() {
    if (lastMillis != 0) {
      append();
      segment++;
      lastMillis = 0;
    }
  }

  /**
   * Adds a point and returns the number of its segment, from 0; returns -1 when a value is not
   * finite.
   *
   * @param others one value for each other column
   */
  public int add(long timeMillis, double... others) {
    if (!DoubleStream.of(others).allMatch(Double::isFinite)) {
      return -1;
    }
    if (lastMillis != 0) {
      pass(timeMillis - lastMillis);
    }
    lastMillis = timeMillis;
    sums[0] += timeMillis;
    for (int c = 0; c < others.length; c++) {
      sums[c + 1] += others[c];
    }
    if (++summed == perPoint) {
      append();
    }
    return segment;
  }

  /** Returns the values of a column, the oldest first. */
  double[] column(String name) {
    return Arrays.copyOf(columns[names.indexOf(name)], size);
  }

  /** Returns one array per column, with {@code segment} as the last one. */
  public JsonObject toJson() {
    JsonObject json = new JsonObject();
    for (int c = 0; c < columns.length; c++) {
      JsonArray column = new JsonArray();
      for (int i = 0; i < size; i++) {
        column.add(value(c, columns[c][i]));
      }
      json.put(names.get(c), column);
    }
    JsonArray column = new JsonArray();
    for (int i = 0; i < size; i++) {
      column.add(Math.round(segments[i]));
    }
    return json.put("segment", column);
  }

  /** Returns the columns, and under {@code open} what {@link #goOn} needs besides them. */
  JsonObject save() {
    JsonArray open = new JsonArray();
    DoubleStream.of(sums).forEach(open::add);
    return toJson()
        .put(
            OPEN,
            new JsonObject()
                .put("perPoint", perPoint)
                .put("summed", summed)
                .put("sums", open)
                .put("segment", segment)
                .put("lastMillis", lastMillis)
                .put("intervals", intervals)
                .put("intervalsMillis", intervalsMillis));
  }

  /**
   * Goes on with a curve of the same columns; for a curve that is empty.
   *
   * @param saved what {@link #save} has returned
   * @throws RuntimeException when it is damaged
   */
  void goOn(JsonObject saved) {
    JsonArray of = saved.getJsonArray("segment");
    for (int i = 0; i < of.size(); i++) {
      segments[i] = of.getInteger(i);
      for (int c = 0; c < columns.length; c++) {
        columns[c][i] = saved.getJsonArray(names.get(c)).getDouble(i);
      }
    }
    size = of.size();
    JsonObject open = saved.getJsonObject(OPEN);
    perPoint = open.getInteger("perPoint");
    summed = open.getInteger("summed");
    for (int c = 0; c < sums.length; c++) {
      sums[c] = open.getJsonArray("sums").getDouble(c);
    }
    segment = open.getInteger("segment");
    lastMillis = open.getLong("lastMillis");
    intervals = open.getLong("intervals");
    intervalsMillis = open.getLong("intervalsMillis");
  }

  /** Returns a point as it is in JSON, with the keys of {@link #toJson}. */
  JsonObject point(int pointSegment, long timeMillis, double... others) {
    JsonObject json = new JsonObject().put("timeMillis", timeMillis);
    for (int c = 0; c < others.length; c++) {
      json.put(names.get(c + 1), value(c + 1, others[c]));
    }
    return json.put("segment", pointSegment);
  }

  private Object value(int column, double value) {
    return FRACTIONS.contains(names.get(column)) ? (Object) (float) value : Math.round(value);
  }

  /**
   * Records the time since the last point and begins a new segment when it is unusually long.
   * Workers report a few times a second, but only after a step, and a step may take long.
   */
  private void pass(long millis) {
    long usual = intervals < KNOWN_INTERVALS ? Long.MAX_VALUE : intervalsMillis / intervals;
    if (millis > SHORTEST_GAP_MILLIS && millis / USUAL_INTERVALS > usual) {
      interrupt();
    } else {
      intervals++;
      intervalsMillis += Math.max(0, millis);
    }
  }

  private void append() {
    if (summed == 0) {
      return;
    }
    if (size == CAPACITY) {
      halve();
    }
    for (int c = 0; c < sums.length; c++) {
      columns[c][size] = sums[c] / summed;
      sums[c] = 0;
    }
    segments[size] = segment;
    summed = 0;
    size++;
  }

  /**
   * Averages pairs of neighbours within each segment; the last point of an odd segment stays
   * single.
   */
  private void halve() {
    perPoint *= 2;
    int kept = 0;
    for (int i = 0; i < size; kept++) {
      boolean pair = i + 1 < size && segments[i] == segments[i + 1];
      for (double[] column : columns) {
        column[kept] = pair ? (column[i] + column[i + 1]) / 2 : column[i];
      }
      segments[kept] = segments[i];
      i += pair ? 2 : 1;
    }
    size = kept;
    if (size > CAPACITY * 3 / 4) {
      forgetEverySecond();
    }
  }

  /** Drops every second point, for when almost no two neighbours belong to the same segment. */
  private void forgetEverySecond() {
    size /= 2;
    for (int i = 0; i < size; i++) {
      for (double[] column : columns) {
        column[i] = column[2 * i + 1];
      }
      segments[i] = segments[2 * i + 1];
    }
  }
}
