package io.vertigrad.events;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.RecordJson.Form;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Converts training events to JSON and back.
 *
 * <p>{@code type} is the record's name with a small first letter. Numbers that JSON lacks are
 * written as the strings {@code "NaN"}, {@code "Infinity"} and {@code "-Infinity"}. A missing
 * component reads as 0, false, the empty string, the empty map or the empty list. An event of a
 * member whose role is missing or unknown is read as an event of an unknown type.
 */
final class TrainingEventJson {

  private static final RecordJson JSON =
      RecordJson.lenient(TrainingEventJson::omits, Form.choice(Role.class, "a role"));

  private static final Set<String> ROLES =
      Arrays.stream(Role.values()).map(Role::lower).collect(Collectors.toSet());

  private static final Map<String, Class<?>> TYPES =
      Arrays.stream(TrainingEvent.class.getDeclaredClasses())
          .filter(Class::isRecord)
          .collect(Collectors.toUnmodifiableMap(TrainingEventJson::type, Function.identity()));

  private static final Set<Class<?>> WITH_ROLE =
      TYPES.values().stream()
          .filter(
              type ->
                  Stream.of(type.getRecordComponents()).anyMatch(c -> c.getType() == Role.class))
          .collect(Collectors.toUnmodifiableSet());

  private TrainingEventJson() {}

  static JsonObject write(TrainingEvent event) {
    JsonObject json =
        new JsonObject().put("type", type(event.getClass())).mergeIn(JSON.write((Record) event));
    json.getMap()
        .replaceAll(
            (key, value) ->
                value instanceof Double number && !Double.isFinite(number)
                    ? number.toString()
                    : value);
    return json;
  }

  static TrainingEvent read(JsonObject json) {
    String name = String.valueOf(json.getValue("type"));
    Class<?> type = TYPES.get(name);
    return type == null || WITH_ROLE.contains(type) && !ROLES.contains(json.getValue("role"))
        ? null
        : (TrainingEvent) JSON.read(type, json, name);
  }

  /**
   * Leaves out an empty list of class names or errors, and the metric of a test if it is the
   * accuracy.
   */
  private static boolean omits(Record event, String key, Object value) {
    return List.of().equals(value) && (key.equals("classes") || key.equals("errors"))
        || event instanceof Evaluated tested
            && tested.kind() == Metric.ACCURACY
            && key.startsWith("metric");
  }

  static String type(Class<?> event) {
    String name = event.getSimpleName();
    return Character.toLowerCase(name.charAt(0)) + name.substring(1);
  }
}
