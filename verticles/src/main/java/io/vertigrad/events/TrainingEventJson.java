package io.vertigrad.events;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Converts training events to JSON and back, one record component at a time.
 *
 * <p>{@code type} is the record's name with a small first letter. Numbers that JSON lacks are
 * written as the strings {@code "NaN"}, {@code "Infinity"} and {@code "-Infinity"}. A missing
 * component reads as 0, false, the empty string, the empty map or the empty list.
 */
final class TrainingEventJson {

  private static final Map<String, Class<?>> TYPES =
      Arrays.stream(TrainingEvent.class.getPermittedSubclasses())
          .collect(Collectors.toUnmodifiableMap(TrainingEventJson::type, Function.identity()));

  private TrainingEventJson() {}

  static JsonObject write(TrainingEvent event) {
    JsonObject json = new JsonObject().put("type", type(event.getClass()));
    for (RecordComponent component : event.getClass().getRecordComponents()) {
      if (!isLeftOut(event, component)) {
        json.put(component.getName(), written(value(event, component)));
      }
    }
    return json;
  }

  /**
   * Returns true for empty class names, and for the metric of a test whose metric is the accuracy.
   */
  private static boolean isLeftOut(TrainingEvent event, RecordComponent component) {
    if (event instanceof JobStarted started && component.getType() == List.class) {
      return started.classes().isEmpty();
    }
    return event instanceof Evaluated tested
        && tested.kind() == Metric.ACCURACY
        && component.getName().startsWith("metric");
  }

  static TrainingEvent read(JsonObject json) {
    Class<?> type = TYPES.get(String.valueOf(json.getValue("type")));
    if (type == null) {
      return null;
    }
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types = new Class<?>[components.length];
    Object[] values = new Object[components.length];
    for (int i = 0; i < components.length; i++) {
      types[i] = components[i].getType();
      values[i] = read(types[i], json.getValue(components[i].getName()));
    }
    try {
      return (TrainingEvent) type.getDeclaredConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("record " + type.getName() + " cannot be made", e);
    }
  }

  private static String type(Class<?> event) {
    String name = event.getSimpleName();
    return Character.toLowerCase(name.charAt(0)) + name.substring(1);
  }

  private static Object value(TrainingEvent event, RecordComponent component) {
    try {
      return component.getAccessor().invoke(event);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("record component " + component + " cannot be read", e);
    }
  }

  private static Object written(Object value) {
    if (value instanceof Double number && !Double.isFinite(number)) {
      return number.toString();
    }
    if (value instanceof Map<?, ?> counts) {
      JsonObject json = new JsonObject();
      new TreeMap<>(counts).forEach((key, count) -> json.put(key.toString(), count));
      return json;
    }
    if (value instanceof List<?> texts) {
      return new JsonArray(new ArrayList<>(texts));
    }
    return value;
  }

  private static Object read(Class<?> type, Object found) {
    if (type == long.class) {
      return found instanceof Number number ? number.longValue() : 0L;
    }
    if (type == int.class) {
      return found instanceof Number number ? number.intValue() : 0;
    }
    if (type == double.class) {
      return found == null ? 0.0 : Double.valueOf(found.toString());
    }
    if (type == boolean.class) {
      return Boolean.TRUE.equals(found);
    }
    if (type == Map.class) {
      return counts(found);
    }
    if (type == List.class) {
      return found instanceof JsonArray array
          ? array.stream().map(String::valueOf).toList()
          : List.of();
    }
    return found == null ? "" : found.toString();
  }

  private static Map<Integer, Long> counts(Object found) {
    Map<Integer, Long> counts = new TreeMap<>();
    if (found instanceof JsonObject json) {
      json.forEach(
          entry ->
              counts.put(Integer.valueOf(entry.getKey()), ((Number) entry.getValue()).longValue()));
    }
    return counts;
  }
}
