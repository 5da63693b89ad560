package io.vertigrad.verticles.metrics;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/**
 * A worker's history as columns of numbers, of bounded length: when it is full, neighbours are
 * averaged in pairs, and from then on twice as many points make one.
 */
final class Curve {

  static final int CAPACITY = 480;

  private static final String[] NAMES = {"timeMillis", "version", "loss", "samplesPerSecond"};

  private final double[][] columns = new double[NAMES.length][CAPACITY];
  private final double[] sums = new double[NAMES.length];
  private int size;
  private int perPoint = 1;
  private int summed;

  void add(long timeMillis, long version, double loss, double samplesPerSecond) {
    if (!Double.isFinite(loss)) {
      return;
    }
    double[] point = {timeMillis, version, loss, samplesPerSecond};
    for (int c = 0; c < sums.length; c++) {
      sums[c] += point[c];
    }
    if (++summed == perPoint) {
      append();
    }
  }

  /** One array per column: {@code timeMillis}, {@code version}, {@code loss}, and so on. */
  JsonObject toJson() {
    JsonObject json = new JsonObject();
    for (int c = 0; c < NAMES.length; c++) {
      JsonArray column = new JsonArray();
      for (int i = 0; i < size; i++) {
        column.add(c < 2 ? (Object) Math.round(columns[c][i]) : (Object) rounded(columns[c][i]));
      }
      json.put(NAMES[c], column);
    }
    return json;
  }

  private void append() {
    if (size == CAPACITY) {
      halve();
    }
    for (int c = 0; c < sums.length; c++) {
      columns[c][size] = sums[c] / summed;
      sums[c] = 0;
    }
    summed = 0;
    size++;
  }

  private void halve() {
    size /= 2;
    perPoint *= 2;
    for (double[] column : columns) {
      for (int i = 0; i < size; i++) {
        column[i] = (column[2 * i] + column[2 * i + 1]) / 2;
      }
    }
  }

  private static float rounded(double value) {
    return (float) value;
  }
}
