package io.vertigrad.dashboard;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps the results of evaluations, oldest first; when it is full, it drops every second one. They
 * form segments, as the points of a {@link Curve} do.
 */
final class TestCurve {

  static final int CAPACITY = 1_000;

  private final List<JsonObject> kept = new ArrayList<>();
  private final List<JsonObject> fresh = new ArrayList<>();
  private int segment;
  private boolean begun;

  /** Makes the next evaluation begin a new segment; does nothing before the first one. */
  void interrupt() {
    segment += begun ? 1 : 0;
    begun = false;
  }

  /** Keeps the tests of a stream up to a time. */
  void add(long timeMillis, long version, StreamTests tests) {
    JsonObject json = tests.toJson().put("timeMillis", timeMillis).put("version", version);
    add(json.put("streamed", true));
  }

  /** Keeps an evaluation, if it had samples. */
  void add(Evaluated tested) {
    if (tested.samples() > 0) {
      add(tested.toJson());
    }
  }

  private void add(JsonObject json) {
    if (kept.size() == CAPACITY) {
      for (int i = CAPACITY - 2; i >= 0; i -= 2) {
        kept.remove(i);
      }
    }
    json.remove("type");
    json.put("segment", segment);
    begun = true;
    kept.add(json);
    fresh.add(json);
  }

  /** Returns the evaluations since the last call. */
  JsonArray takeFresh() {
    JsonArray taken = new JsonArray(new ArrayList<>(fresh));
    fresh.clear();
    return taken;
  }

  public JsonArray toJson() {
    return new JsonArray(new ArrayList<>(kept));
  }
}
