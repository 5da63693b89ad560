package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A value in a JSON file, with the path that leads to it. Every accessor names the path when the
 * value has another kind.
 *
 * @param value as {@link JsonText} reads it
 * @param path such as {@code models/model.json: graph_module.graph.nodes[3]}
 */
record JsonValue(Object value, String path) {

  /** Values in a file. PyTorch writes about one in twenty bytes. */
  private static final int MOST = 1 << 21;

  /**
   * Parses a file.
   *
   * @param name of the file
   * @throws ArchiveException when it is no JSON, has a key twice, or is too large or too deep
   */
  static JsonValue parse(String name, byte[] bytes) throws ArchiveException {
    try {
      String text = JsonText.decode(name, bytes);
      return new JsonValue(JsonText.valueOfPython(name, text, MOST), name + ":");
    } catch (SettingsException e) {
      throw new ArchiveException(e.getMessage());
    }
  }

  /** Returns the value of a key, which must be there and not null. */
  JsonValue get(String key) throws ArchiveException {
    Optional<JsonValue> found = find(key);
    if (found.isEmpty()) {
      throw new ArchiveException("%s has no %s: it is damaged".formatted(path, key));
    }
    return found.get();
  }

  /** Returns the value of a key, or empty when it is absent or null. */
  Optional<JsonValue> find(String key) throws ArchiveException {
    Object found = object().getValue(key);
    return Optional.ofNullable(found).map(some -> new JsonValue(some, below(key)));
  }

  /** Returns the values of an object by their keys, in the file's order. */
  Map<String, JsonValue> fields() throws ArchiveException {
    Map<String, JsonValue> fields = new LinkedHashMap<>();
    for (Map.Entry<String, Object> one : object()) {
      fields.put(one.getKey(), new JsonValue(one.getValue(), below(one.getKey())));
    }
    return fields;
  }

  /** Returns the only field of an object. The schema represents an alternative so. */
  Map.Entry<String, JsonValue> alternative() throws ArchiveException {
    Map<String, JsonValue> fields = fields();
    if (fields.size() != 1) {
      throw new ArchiveException(
          "%s has %s keys, expected one: it is damaged".formatted(path, fields.size()));
    }
    return fields.entrySet().iterator().next();
  }

  /** Returns the elements of a list. */
  List<JsonValue> elements() throws ArchiveException {
    if (!(value instanceof JsonArray list)) {
      throw other("a list");
    }
    List<JsonValue> elements = new ArrayList<>(list.size());
    for (int i = 0; i < list.size(); i++) {
      elements.add(new JsonValue(list.getValue(i), "%s[%s]".formatted(path, i)));
    }
    return elements;
  }

  /** Returns the object. */
  JsonObject object() throws ArchiveException {
    if (value instanceof JsonObject object) {
      return object;
    }
    throw other("an object");
  }

  /** Returns the text. */
  String text() throws ArchiveException {
    if (value instanceof String text) {
      return text;
    }
    throw other("text");
  }

  /** Returns the whole number. */
  long integer() throws ArchiveException {
    if (value instanceof Integer || value instanceof Long) {
      return ((Number) value).longValue();
    }
    throw other("a whole number of 64 bits");
  }

  /** Returns the number. Infinity and NaN may be written as text, which PyTorch does since 2.8. */
  double number() throws ArchiveException {
    if (value instanceof Number number) {
      return number.doubleValue();
    }
    if ("Infinity".equals(value) || "-Infinity".equals(value) || "NaN".equals(value)) {
      return Double.parseDouble((String) value);
    }
    throw other("a number");
  }

  /** Returns the truth value. */
  boolean truth() throws ArchiveException {
    if (value instanceof Boolean truth) {
      return truth;
    }
    throw other("true or false");
  }

  /** Returns the exception for a value that is not what was expected. */
  ArchiveException other(String expected) {
    String found = "an object";
    if (value == null) {
      found = "null";
    } else if (value instanceof String text) {
      found = "\"%s\"".formatted(JsonText.shown(text));
    } else if (value instanceof JsonArray) {
      found = "a list";
    } else if (!(value instanceof JsonObject)) {
      found = JsonText.shown(value.toString());
    }
    return new ArchiveException("%s is %s, expected %s".formatted(path, found, expected));
  }

  private String below(String key) {
    return path + (path.endsWith(":") ? " " : ".") + JsonText.shown(key);
  }

  /** Returns the text as bytes of a file. */
  static byte[] bytes(JsonObject object) {
    return object.encode().getBytes(StandardCharsets.UTF_8);
  }
}
