package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonObject;

/**
 * One {@code --set a.b.c=value} of the command line.
 *
 * @param path keys from the root of the job file, separated by dots
 * @param value the value of a JSON literal; text that is not a literal is the value itself
 */
public record Assignment(String path, Object value) {

  public Assignment {
    if (path.chars().filter(c -> c == '.').count() >= JsonText.MOST_LEVELS) {
      throw new InputException(
          "--set %s: expected at most %s keys, one below the other"
              .formatted(JsonText.shown(path), JsonText.MOST_LEVELS));
    }
    if (path.isEmpty() || !path.matches("[^.\\s]+(\\.[^.\\s]+)*")) {
      throw new InputException(
          "--set %s: expected keys separated by dots, such as workers.count=4"
              .formatted(JsonText.shown(path)));
    }
  }

  /**
   * Reads {@code key=value}.
   *
   * @throws InputException when there is no {@code =}, or a list, object or string is cut short
   */
  public static Assignment parse(String text) {
    int equals = text.indexOf('=');
    if (equals < 0) {
      throw new InputException(
          "--set %s: expected KEY=VALUE, such as workers.count=4".formatted(JsonText.shown(text)));
    }
    return new Assignment(text.substring(0, equals), literal(text, text.substring(equals + 1)));
  }

  /**
   * Returns the word after {@code --set} that gives a key this value, even when it is a text that
   * looks like a JSON literal.
   */
  public static String words(String path, Object value) {
    return path + "=" + (value instanceof String text && isPlain(text) ? text : Json.encode(value));
  }

  /**
   * Writes the value into a job and creates missing sections; {@code null} removes the key.
   *
   * @throws InputException when a key on the path holds something that is not a section
   */
  public void applyTo(JsonObject job) {
    String[] keys = path.split("\\.");
    JsonObject section = job;
    for (int i = 0; i < keys.length - 1; i++) {
      section = descend(section, keys[i]);
    }
    String last = keys[keys.length - 1];
    if (value == null) {
      section.remove(last);
    } else {
      section.put(last, value);
    }
  }

  private JsonObject descend(JsonObject section, String key) {
    Object found = section.getValue(key);
    if (found == null) {
      JsonObject created = new JsonObject();
      section.put(key, created);
      return created;
    }
    if (found instanceof JsonObject nested) {
      return nested;
    }
    throw new InputException(
        "--set %s: \"%s\" is %s in the job file, expected a section { ... }"
            .formatted(JsonText.shown(path), key, JsonText.shown(Json.encode(found))));
  }

  private static boolean isPlain(String text) {
    try {
      return text.equals(literal(text, text));
    } catch (InputException startsLikeJson) {
      return false;
    }
  }

  private static Object literal(String text, String value) {
    try {
      return JsonText.value("--set " + text, value);
    } catch (SettingsException e) {
      boolean json = e.getCause() == null && !value.isEmpty();
      if (json) {
        throw e;
      }
      if (!value.isEmpty() && "[{\"".indexOf(value.charAt(0)) >= 0) {
        throw new InputException(
            "--set %s: the value starts like JSON but is not complete; quote it for the shell, '%s'"
                .formatted(text, "KEY=[1, 2]"),
            e);
      }
      return value;
    }
  }
}
