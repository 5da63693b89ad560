package io.vertigrad.dashboard;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/**
 * A worker's history as columns of numbers, of bounded length: when it is full, neighbours are
 * averaged in pairs, and from then on twice as many points make one.
 *
 * <p>Its points come in segments. A new one begins after {@link #interrupt}, and after a time
 * without a point that is long beside the usual one. No line goes from one segment to the next, and
 * no average is taken over two of them: nothing was measured between them.
 */
final class Curve {

  public static final int CAPACITY = 480;

  /** A shorter time without a point never ends a segment. */
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

  /** The next point begins a new segment; without effect before the first point. */
  public void interrupt() {
    if (lastMillis != 0) {
      append();
      segment++;
      lastMillis = 0;
    }
  }

  /** Adds a point and returns the number of its segment, from 0; -1 without a finite loss. */
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
   * One array per column: {@code timeMillis}, {@code version}, {@code loss}, {@code
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

  /** Workers report a few times a second, but not before a step is done, which may take long. */
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

  /** Makes one point of two neighbours of one segment; the odd one of a segment stays alone. */
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

  /** Where hardly two points are of one segment. */
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
