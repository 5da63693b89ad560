package io.vertigrad.verticles.coordinator;

import io.vertx.core.json.JsonObject;

/**
 * The coordinator's word on whether workers may begin another step.
 *
 * @param number grows with every word; an older one is not obeyed any more
 * @param holdFrom no step begins at this version or a later one; {@link Long#MAX_VALUE} for none
 * @param ends true when none ever will: whoever is there has finished
 */
public record Pause(long number, long holdFrom, boolean ends) {

  /** A word after which the job may still go on. */
  public Pause(long number, long holdFrom) {
    this(number, holdFrom, false);
  }

  /** Nobody has asked for a pause yet. */
  public static final Pause NONE = new Pause(0, Long.MAX_VALUE);

  /** True while the job is paused. */
  public boolean holds() {
    return holdFrom != Long.MAX_VALUE;
  }

  /** {@code {"number", "holdFrom", "ends"}}. */
  JsonObject toJson() {
    return new JsonObject().put("number", number).put("holdFrom", holdFrom).put("ends", ends);
  }

  static Pause fromJson(JsonObject json) {
    return new Pause(
        json.getLong("number"), json.getLong("holdFrom"), json.getBoolean("ends", false));
  }
}
