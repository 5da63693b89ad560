package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.Locale;

/**
 * Asks to take part in a job.
 *
 * @param role as what
 * @param token the same on every retry, so that a lost answer never admits twice
 * @param node where the member runs, for people
 * @param terms the settings it was started with
 * @param layout its model's parameter layout
 * @param adopts true for a worker that another one's process has started beside it
 * @param status as in heartbeats; {@code starting} when it is not ready to take part yet
 */
record JoinRequest(
    Role role,
    String token,
    String node,
    JobTerms terms,
    ParameterLayout layout,
    boolean adopts,
    JsonObject status) {

  JsonObject toJson() {
    return new JsonObject()
        .put("request", "join")
        .put("role", role.lower())
        .put("token", token)
        .put("node", node)
        .put("terms", terms.values())
        .put("layout", LayoutJson.write(layout))
        .put("adopts", adopts)
        .put("status", status);
  }

  static JoinRequest fromJson(JsonObject json) {
    return new JoinRequest(
        Role.valueOf(json.getString("role").toUpperCase(Locale.ROOT)),
        json.getString("token"),
        json.getString("node"),
        new JobTerms(json.getJsonObject("terms")),
        LayoutJson.read(json.getJsonArray("layout")),
        json.getBoolean("adopts", false),
        json.getJsonObject("status", new JsonObject()));
  }
}
