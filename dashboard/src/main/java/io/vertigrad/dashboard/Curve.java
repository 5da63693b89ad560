package io.vertigrad.dashboard;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/**
 * A worker's history as columns of numbers, with a limit on the number of points. When it is full,
 * neighbouring points are averaged in pairs, and each later point averages twice as many reports.
 *
 * <p>The points form segments. A new segment begins after {@link #interrupt}, and after a gap that
 * is long compared with the usual interval. Nothing was measured between two segments, so no line
 * connects them and no average spans them.
 */
final class Curve {

  public static final int CAPACITY = 480;

  /** A shorter gap never ends a segment. */
  public static final long SHORTEST_GAP_MILLIS = 2_000;

  private static final int USUAL_INTERVALS = 8;
  private static final int KNOWN_INTERVALS = 3;
  private static final int SEGMENT = 4;
  private static final String[] NAMES = {
    "timeMillis", "version", "loss", "samplesPerSecond", "segment"
  };

  private final double[][] columns = new double[NAMES.length][CAPACITY];
  private final double[] sums = new double[SEGMENT];
  private int size;
  private int perPoint = 1;
  private int summed;
  private int segment;
  private long lastMillis;
  private long intervals;
  private long intervalsMillis;

  /** Makes the next point begin a new segment; does nothing before the first point. */
  public void interrupt() {
    if (lastMillis != 0) {
      append();
      segment++;
      lastMillis = 0;
    }
  }

  /**
   * Adds a point and returns the number of its segment, from 0; returns -1 when the loss is not
   * finite.
   */
  public int add(long timeMillis, long version, double loss, double samplesPerSecond) {
    if (!Double.isFinite(loss)) {
      return -1;
    }
    if (lastMillis != 0) {
      pass(timeMillis - lastMillis);
    }
    lastMillis = timeMillis;
    double[] point = {timeMillis, version, loss, samplesPerSecond};
    for (int c = 0; c < sums.length; c++) {
      sums[c] += point[c];
    }
    if (++summed == perPoint) {
      append();
    }
    return segment;
  }

  /**
   * Returns one array per column: {@code timeMillis}, {@code version}, {@code loss}, {@code
   * samplesPerSecond} and {@code segment}.
   */
  public JsonObject toJson() {
    JsonObject json = new JsonObject();
    for (int c = 0; c < NAMES.length; c++) {
      boolean whole = c < 2 || c == SEGMENT;
      JsonArray column = new JsonArray();
      for (int i = 0; i < size; i++) {
        column.add(whole ? (Object) Math.round(columns[c][i]) : (Object) rounded(columns[c][i]));
      }
      json.put(NAMES[c], column);
    }
    return json;
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
    columns[SEGMENT][size] = segment;
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
      boolean pair = i + 1 < size && columns[SEGMENT][i] == columns[SEGMENT][i + 1];
      for (double[] column : columns) {
        column[kept] = pair ? (column[i] + column[i + 1]) / 2 : column[i];
      }
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
    for (double[] column : columns) {
      for (int i = 0; i < size; i++) {
        column[i] = column[2 * i + 1];
      }
    }
  }

  static float rounded(double value) {
    return (float) value;
  }
}
