package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;

/** Keeps the last notable events as JSON; when it is full, it drops the oldest. */
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

  /** Returns the events since the last call, at most the last {@value #FRESH}. */
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
