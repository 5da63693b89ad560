package io.vertigrad.codecs.settings;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * One section of a job file, read key by key; {@link #refuseUnknown()} closes it.
 *
 * <p>Every error is a {@link SettingsException} that names the file, the path of the key, what was
 * found and what was expected. Not thread-safe.
 */
public final class Settings {

  private final String origin;
  private final String path;
  private final JsonObject values;
  private final Set<String> known = new TreeSet<>();

  private Settings(String origin, String path, JsonObject values) {
    this.origin = origin;
    this.path = path;
    this.values = values;
  }

  /** The root section of a file; {@code origin} is how errors name it. */
  public static Settings of(String origin, JsonObject values) {
    return new Settings(origin, "", values);
  }

  /** A nested section; empty when absent. */
  public Settings section(String key) {
    Object found = value(key);
    if (found == null) {
      return new Settings(origin, at(key), new JsonObject());
    }
    if (found instanceof JsonObject object) {
      return new Settings(origin, at(key), object);
    }
    throw wrong(key, found, "an object { ... }");
  }

  public boolean has(String key) {
    known.add(key);
    return values.getValue(key) != null;
  }

  public String string(String key, String otherwise) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof String text) {
      return text;
    }
    throw wrong(key, found, "a string");
  }

  public String requiredString(String key) {
    String found = string(key, null);
    if (found == null || found.isBlank()) {
      throw new SettingsException(error(key, "is missing, expected a string"));
    }
    return found;
  }

  /** One of {@code choices}, the first being no default: pass {@code otherwise} for that. */
  public String choice(String key, String otherwise, String... choices) {
    String found = string(key, otherwise);
    for (String choice : choices) {
      if (choice.equals(found)) {
        return found;
      }
    }
    throw wrong(key, found, "one of " + String.join(", ", choices));
  }

  public int integer(String key, int otherwise, int least, int most) {
    return (int) longInteger(key, otherwise, least, most);
  }

  public long longInteger(String key, long otherwise, long least, long most) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof Number number && number.doubleValue() == number.longValue()) {
      long value = number.longValue();
      if (value >= least && value <= most) {
        return value;
      }
    }
    throw wrong(key, found, "a whole number from %d to %d".formatted(least, most));
  }

  public double number(String key, double otherwise, double least, double most) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof Number number) {
      double value = number.doubleValue();
      if (value >= least && value <= most) {
        return value;
      }
    }
    throw wrong(key, found, "a number from %s to %s".formatted(least, most));
  }

  public boolean flag(String key, boolean otherwise) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof Boolean flag) {
      return flag;
    }
    throw wrong(key, found, "true or false");
  }

  public List<Double> numbers(String key, List<Double> otherwise) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof JsonArray array) {
      List<Double> numbers = new ArrayList<>();
      for (Object element : array) {
        if (!(element instanceof Number number)) {
          throw wrong(key, element, "a list of numbers");
        }
        numbers.add(number.doubleValue());
      }
      return List.copyOf(numbers);
    }
    throw wrong(key, found, "a list of numbers");
  }

  /** A list of strings. */
  public List<String> textList(String key, List<String> otherwise) {
    Object found = value(key);
    if (found == null) {
      return otherwise;
    }
    if (found instanceof JsonArray array && array.stream().allMatch(String.class::isInstance)) {
      return array.stream().map(String.class::cast).toList();
    }
    throw wrong(key, found, "a list of strings");
  }

  /** Refuses every key that was not asked for, with the nearest known one as a suggestion. */
  public void refuseUnknown() {
    for (String key : values.fieldNames()) {
      if (!known.contains(key)) {
        throw new SettingsException(error(key, "is not a known key, " + suggestion(key)));
      }
    }
  }

  /** An error about one key, for checks that span several: {@code file: path message}. */
  public SettingsException refuse(String key, String message) {
    return new SettingsException(error(key, message));
  }

  /** The section as it was written, for the record. */
  public JsonObject toJson() {
    return values.copy();
  }

  private Object value(String key) {
    known.add(key);
    return values.getValue(key);
  }

  private SettingsException wrong(String key, Object found, String expected) {
    String shown = found instanceof String text ? '"' + text + '"' : String.valueOf(found);
    return new SettingsException(error(key, "is %s, expected %s".formatted(shown, expected)));
  }

  private String error(String key, String message) {
    return "%s: %s %s".formatted(origin, at(key), message);
  }

  private String at(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  private String suggestion(String key) {
    String nearest = null;
    int best = Math.max(2, key.length() / 3) + 1;
    for (String candidate : known) {
      int distance = editDistance(key, candidate);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return nearest == null
        ? "expected one of " + String.join(", ", known)
        : "did you mean \"" + nearest + "\"?";
  }

  private static int editDistance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substitution = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substitution, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
