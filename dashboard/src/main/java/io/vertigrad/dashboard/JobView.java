package io.vertigrad.dashboard;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Holds the newest state of a job and of each of its members, as the metrics verticle sends them.
 * It leaves out fields whose type differs from {@code docs/reference/metrics.md}, so readers need
 * not check types; single-threaded.
 */
final class JobView {

  private static final int MEMBERS = 1_024;
  private static final int ROLE_LENGTH = 32;
  private static final JsonObject NOBODY = new JsonObject();

  private static final Map<String, Class<?>> STATE_TYPES =
      Map.of(
          "phase",
          String.class,
          "metric",
          String.class,
          "servers",
          Number.class,
          "predictors",
          JsonObject.class);
  private static final Map<String, Class<?>> MEMBER_TYPES =
      Map.of("condition", String.class, "staleness", JsonObject.class);

  private final Map<String, JsonObject> members = new LinkedHashMap<>();
  private JsonObject state = new JsonObject();
  private long number;

  /** Applies a delta; ignores anything else. */
  void take(Object message) {
    if (!(message instanceof JsonObject delta)) {
      return;
    }
    if (delta.getValue("state") instanceof JsonObject newest) {
      state = wellTyped(newest, STATE_TYPES);
    }
    if (delta.getValue("number") instanceof Number newest) {
      number = newest.longValue();
    }
    if (delta.getValue("members") instanceof JsonArray changed) {
      changed.forEach(this::takeMember);
    }
  }

  private void takeMember(Object changed) {
    if (!(changed instanceof JsonObject found)
        || !(found.getValue("role") instanceof String role)
        || role.length() > ROLE_LENGTH
        || !(found.getValue("rank") instanceof Integer rank)) {
      return;
    }
    String name = role + " " + rank;
    if (members.size() < MEMBERS || members.containsKey(name)) {
      JsonObject member = wellTyped(found, MEMBER_TYPES);
      if (member.getValue("staleness") instanceof JsonObject ages && !areCounts(ages)) {
        member.remove("staleness");
      }
      members.put(name, member);
    }
  }

  /** Returns a copy without the fields of a wrong type. */
  private static JsonObject wellTyped(JsonObject found, Map<String, Class<?>> types) {
    JsonObject copy = new JsonObject(new LinkedHashMap<>(found.getMap()));
    types.forEach(
        (key, type) -> {
          if (!type.isInstance(copy.getValue(key))) {
            copy.remove(key);
          }
        });
    return copy;
  }

  /** Returns true when the object maps staleness to numbers of gradients. */
  private static boolean areCounts(JsonObject ages) {
    return ages.stream()
        .allMatch(age -> age.getKey().matches("\\d{1,9}") && age.getValue() instanceof Number);
  }

  /** Returns the number of the newest delta, 0 before the first. */
  long number() {
    return number;
  }

  /**
   * Returns the phase, such as {@code waiting}; {@code unknown} before the first delta, and for a
   * replay.
   */
  String phase() {
    return state.getString("phase", "unknown");
  }

  JsonObject state() {
    return state;
  }

  /** Returns the members by name, such as {@code worker 0}, in the order in which they appeared. */
  Map<String, JsonObject> members() {
    return members;
  }

  /** Returns a member's state; an empty object for an unknown member. */
  JsonObject member(String name) {
    return members.getOrDefault(name, NOBODY);
  }

  /** Returns how many members of a role take part, suspected ones included. */
  long present(String role) {
    return members.values().stream()
        .filter(member -> member.getString("role").equals(role) && present(member))
        .count();
  }

  static boolean present(JsonObject member) {
    return member.getString("condition", "").matches("up|suspect");
  }
}
