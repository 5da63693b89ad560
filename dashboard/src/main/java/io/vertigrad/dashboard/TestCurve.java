package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * What evaluations found, oldest first; when it is full, every second one is forgotten. Like the
 * points of a {@link Curve} they come in segments.
 */
final class TestCurve {

  static final int CAPACITY = 1_000;

  private final List<JsonObject> kept = new ArrayList<>();
  private final List<JsonObject> fresh = new ArrayList<>();
  private int segment;
  private boolean begun;

  /** The next evaluation begins a new segment. */
  public void interrupt() {
    segment += begun ? 1 : 0;
    begun = false;
  }

  public void add(Evaluated tested) {
    if (kept.size() == CAPACITY) {
      for (int i = CAPACITY - 2; i >= 0; i -= 2) {
        kept.remove(i);
      }
    }
    JsonObject json = tested.toJson();
    json.remove("type");
    json.put("segment", segment);
    begun = true;
    kept.add(json);
    fresh.add(json);
  }

  /** Those since the call before. */
  JsonArray takeFresh() {
    JsonArray taken = new JsonArray(new ArrayList<>(fresh));
    fresh.clear();
    return taken;
  }

  public JsonArray toJson() {
    return new JsonArray(new ArrayList<>(kept));
  }
}
