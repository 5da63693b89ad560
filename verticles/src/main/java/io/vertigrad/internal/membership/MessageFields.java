package io.vertigrad.internal.membership;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Reads the keys of one control message strictly.
 *
 * <p>Every method throws {@link IllegalArgumentException} with a sentence that names the message,
 * the key, what was found and what was expected.
 */
final class MessageFields {

  private static final Set<String> NOT_FINITE = Set.of("NaN", "Infinity", "-Infinity");

  private final String where;
  private final JsonObject json;

  /**
   * Opens a message.
   *
   * @param where its name, with which every error message starts
   */
  MessageFields(String where, JsonObject json) {
    this.where = where;
    this.json = json;
  }

  boolean has(String key) {
    return json.getValue(key) != null;
  }

  String text(String key) {
    return optionalText(key).orElseThrow(() -> complaint(key, "a text"));
  }

  Optional<String> optionalText(String key) {
    Object value = json.getValue(key);
    if (value == null) {
      return Optional.empty();
    }
    if (value instanceof String text) {
      return Optional.of(text);
    }
    throw complaint(key, "a text");
  }

  long whole(String key) {
    return optionalWhole(key).orElseThrow(() -> complaint(key, "a whole number"));
  }

  long whole(String key, long otherwise) {
    return optionalWhole(key).orElse(otherwise);
  }

  /** Reads a whole number from 0 up that fits an {@code int}. */
  int count(String key) {
    return count(key, whole(key));
  }

  /** Reads a whole number from 0 up that fits an {@code int}, or returns the default. */
  int count(String key, int otherwise) {
    return has(key) ? count(key) : otherwise;
  }

  OptionalLong optionalWhole(String key) {
    Object value = json.getValue(key);
    if (value == null) {
      return OptionalLong.empty();
    }
    if (value instanceof Long || value instanceof Integer) {
      return OptionalLong.of(((Number) value).longValue());
    }
    throw complaint(key, "a whole number");
  }

  double number(String key, double otherwise) {
    Object value = json.getValue(key);
    if (value == null) {
      return otherwise;
    }
    if (value instanceof Number number) {
      return number.doubleValue();
    }
    // JSON has no such numbers; they are sent as text.
    if (value instanceof String text && NOT_FINITE.contains(text)) {
      return Double.parseDouble(text);
    }
    throw complaint(key, "a number");
  }

  boolean flag(String key) {
    Object value = json.getValue(key);
    if (value == null) {
      return false;
    }
    if (value instanceof Boolean flag) {
      return flag;
    }
    throw complaint(key, "true or false");
  }

  MessageFields section(String key) {
    return new MessageFields(where + ": " + key, object(key));
  }

  JsonObject object(String key) {
    if (json.getValue(key) instanceof JsonObject object) {
      return object;
    }
    throw complaint(key, "an object");
  }

  JsonArray array(String key) {
    if (json.getValue(key) instanceof JsonArray array) {
      return array;
    }
    throw complaint(key, "a list");
  }

  /** Returns the exception for an invalid value of a key. */
  IllegalArgumentException complaint(String key, String expected) {
    Object value = json.getValue(key);
    String found =
        value == null
            ? "nothing"
            : value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
    return new IllegalArgumentException(
        "%s: %s: found %s, expected %s".formatted(where, key, found, expected));
  }

  private int count(String key, long value) {
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw complaint(key, "a whole number from 0 to " + Integer.MAX_VALUE);
    }
    return (int) value;
  }
}
