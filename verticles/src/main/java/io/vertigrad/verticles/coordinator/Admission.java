package io.vertigrad.verticles.coordinator;

import io.vertx.core.json.JsonObject;
import java.util.Locale;

/**
 * The coordinator's yes to a join, and from then on the member's identity.
 *
 * @param role as asked for
 * @param rank from 0 within the role; a server's rank is the shard it owns
 * @param incarnation how many times that rank has been admitted before
 */
public record Admission(Role role, int rank, int incarnation) {

  /** {@code {"role", "rank", "incarnation"}}. */
  public JsonObject toJson() {
    return new JsonObject()
        .put("role", role.lower())
        .put("rank", rank)
        .put("incarnation", incarnation);
  }

  /** Reads the same three keys; others are left alone. */
  public static Admission fromJson(JsonObject json) {
    return new Admission(
        Role.valueOf(json.getString("role").toUpperCase(Locale.ROOT)),
        json.getInteger("rank"),
        json.getInteger("incarnation"));
  }

  /** For people: {@code worker 1}, or {@code worker 1 (incarnation 2)} from the second on. */
  @Override
  public String toString() {
    String name = role.lower() + " " + rank;
    return incarnation == 0 ? name : name + " (incarnation " + incarnation + ")";
  }
}
