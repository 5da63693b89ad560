package io.vertigrad.dashboard;

import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the metrics verticle told last of a job and each of its members; single-threaded. */
final class JobView {

  private static final int MEMBERS = 1_024;
  private static final JsonObject NOBODY = new JsonObject();

  private final Map<String, JsonObject> members = new LinkedHashMap<>();
  private JsonObject state = new JsonObject();
  private long number;

  /** Takes in a delta, as {@code docs/metrics.md} describes it. */
  void take(JsonObject delta) {
    state = delta.getJsonObject("state");
    number = delta.getLong("number", 0L);
    for (Object changed : delta.getJsonArray("members")) {
      JsonObject member = (JsonObject) changed;
      String name = member.getString("role") + " " + member.getInteger("rank");
      if (members.size() < MEMBERS || members.containsKey(name)) {
        members.put(name, member);
      }
    }
  }

  /** Number of the newest delta, 0 before the first. */
  long number() {
    return number;
  }

  /** {@code waiting} and so on; {@code unknown} before the first delta, and of a replay. */
  String phase() {
    return state.getString("phase", "unknown");
  }

  JsonObject state() {
    return state;
  }

  /** By {@code worker 0} and so on, in the order in which they came. */
  Map<String, JsonObject> members() {
    return members;
  }

  /** Nothing at all of a member that was never heard of. */
  JsonObject member(String name) {
    return members.getOrDefault(name, NOBODY);
  }

  /** How many of a role take part, suspects included. */
  long present(String role) {
    return members.values().stream()
        .filter(member -> member.getString("role").equals(role) && present(member))
        .count();
  }

  static boolean present(JsonObject member) {
    return member.getString("condition", "").matches("up|suspect");
  }
}
