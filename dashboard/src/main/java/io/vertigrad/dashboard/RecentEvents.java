package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;

/** The last events worth reading, as JSON; bounded, the oldest go first. */
final class RecentEvents {

  static final int CAPACITY = 200;
  private static final int FRESH = 50;

  private final Deque<JsonObject> kept = new ArrayDeque<>();
  private final Deque<JsonObject> fresh = new ArrayDeque<>();

  void add(TrainingEvent event) {
    JsonObject json = event.toJson();
    push(kept, json, CAPACITY);
    push(fresh, json, FRESH);
  }

  /** Those since the call before, at most the last {@value #FRESH}. */
  JsonArray takeFresh() {
    JsonArray taken = new JsonArray(new ArrayList<>(fresh));
    fresh.clear();
    return taken;
  }

  JsonArray toJson() {
    return new JsonArray(new ArrayList<>(kept));
  }

  private static void push(Deque<JsonObject> events, JsonObject event, int capacity) {
    if (events.size() == capacity) {
      events.removeFirst();
    }
    events.addLast(event);
  }
}
