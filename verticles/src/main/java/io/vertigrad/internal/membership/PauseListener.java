package io.vertigrad.internal.membership;

import io.vertx.core.json.JsonObject;

/**
 * What a member has heard of pauses, and what it says to them with each heartbeat; belongs to the
 * member's context.
 */
final class PauseListener {

  private static final String KEY = "pause";

  private final MemberHandler handler;
  private final PauseClock clock = new PauseClock();
  private Pause newest = Pause.NONE;
  private long begun;

  PauseListener(MemberHandler handler) {
    this.handler = handler;
  }

  PauseClock clock() {
    return clock;
  }

  /** Forgets everything, before another admission: numbers may begin anew. */
  void reset() {
    if (newest != Pause.NONE) {
      obey(Pause.NONE);
    }
  }

  /** Takes a word out of a message, if there is a new one; true when the coordinator must know. */
  boolean hear(JsonObject message) {
    JsonObject json = message.getJsonObject(KEY);
    if (json == null || json.getLong("number") <= newest.number()) {
      return false;
    }
    obey(Pause.fromJson(json));
    return true;
  }

  /** Adds the number of the last word heard, and where the step leads that was begun before it. */
  void speak(JsonObject heartbeat) {
    heartbeat.put(KEY, new JsonObject().put("number", newest.number()).put("begun", begun));
  }

  private void obey(Pause pause) {
    newest = pause;
    clock.hold(pause.stopsClocks());
    begun = handler.paused(pause);
  }
}
