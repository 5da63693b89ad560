package io.vertigrad.streams.internal;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** The last labels of each lane of a source, the newest first. Used by one thread. */
final class LabelHistory {

  private final int length;
  private final Map<Integer, float[]> lanes = new TreeMap<>();

  /**
   * Creates an empty history.
   *
   * @param length number of labels to keep per lane, at least 1
   */
  LabelHistory(int length) {
    this.length = length;
  }

  /** Returns the labels of a lane; NaN where none is known. */
  float[] of(int lane) {
    return lanes.computeIfAbsent(
        lane,
        any -> {
          float[] unknown = new float[length];
          Arrays.fill(unknown, Float.NaN);
          return unknown;
        });
  }

  /** Adds a label as the newest one. */
  void add(int lane, float label) {
    float[] labels = of(lane);
    System.arraycopy(labels, 0, labels, 1, length - 1);
    labels[0] = label;
  }

  JsonObject toJson() {
    JsonObject json = new JsonObject();
    lanes.forEach(
        (lane, labels) -> {
          JsonArray array = new JsonArray();
          for (float label : labels) {
            array.add(Float.isNaN(label) ? null : (Object) label);
          }
          json.put(String.valueOf(lane), array);
        });
    return json;
  }

  void restore(JsonObject json) {
    for (String lane : json.fieldNames()) {
      JsonArray array = json.getJsonArray(lane);
      float[] labels = of(Integer.parseInt(lane));
      for (int i = 0; i < Math.min(length, array.size()); i++) {
        labels[i] = array.getValue(i) == null ? Float.NaN : array.getFloat(i);
      }
    }
  }
}
