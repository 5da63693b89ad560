package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A name, tags, a note and the marks of a run that is kept, or that the list hides, in {@code
 * notes.json} of its folder. The name is its {@code label}: the folder has a name of its own.
 */
final class RunNotes {

  static final String LABEL = "label";
  static final String TAGS = "tags";
  static final String NOTE = "note";
  static final String KEPT = "kept";
  static final String ARCHIVED = "archived";

  private static final List<String> MARKS = List.of(KEPT, ARCHIVED);
  private static final int MOST_TAGS = 16;
  private static final int LABEL_CHARACTERS = 60;
  private static final int TAG_CHARACTERS = 40;
  private static final int NOTE_CHARACTERS = 4_000;

  private final JsonObject json;

  private RunNotes(JsonObject json) {
    this.json = json;
  }

  /**
   * Reads the notes of a run; there are none without a file.
   *
   * @throws SettingsException naming the file and what is wrong with it
   */
  static RunNotes read(RunDirectory run) {
    if (Files.notExists(run.notes())) {
      return new RunNotes(new JsonObject());
    }
    String name = run.notes().getFileName().toString();
    try {
      return new RunNotes(JsonText.object(name, FileText.read(run.notes())));
    } catch (IOException e) {
      throw new SettingsException("%s %s".formatted(name, FileText.reason(e)), e);
    }
  }

  boolean kept() {
    return Boolean.TRUE.equals(json.getValue(KEPT));
  }

  /**
   * Returns {@code label}, {@code tags}, {@code note}, {@code kept} and {@code archived}, those
   * that are not empty, within the limits of a change: a person may have written the file.
   */
  JsonObject toJson() {
    JsonObject shown = new JsonObject();
    if (json.getValue(LABEL) instanceof String label && !label.isBlank()) {
      shown.put(LABEL, cut(label, LABEL_CHARACTERS));
    }
    if (json.getValue(TAGS) instanceof JsonArray tags && !tags.isEmpty()) {
      shown.put(
          TAGS,
          new JsonArray(
              tags.stream()
                  .limit(MOST_TAGS)
                  .map(tag -> cut(String.valueOf(tag), TAG_CHARACTERS))
                  .toList()));
    }
    if (json.getValue(NOTE) instanceof String note && !note.isEmpty()) {
      shown.put(NOTE, cut(note, NOTE_CHARACTERS));
    }
    for (String mark : MARKS) {
      if (Boolean.TRUE.equals(json.getValue(mark))) {
        shown.put(mark, true);
      }
    }
    return shown;
  }

  private static String cut(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most);
  }

  /**
   * Returns the notes with a change; keys that the change lacks stay, those of later versions too.
   *
   * @throws IllegalArgumentException saying what is wrong with the change
   */
  RunNotes with(JsonObject change) {
    JsonObject changed = json.copy();
    for (String key : change.fieldNames()) {
      Object value = change.getValue(key);
      switch (key) {
        case LABEL -> changed.put(LABEL, label("name", value));
        case TAGS -> changed.put(TAGS, tags(value));
        case NOTE -> changed.put(NOTE, note(value));
        case KEPT, ARCHIVED -> {
          require(value instanceof Boolean, key + ": found %s, expected true or false", value);
          changed.put(key, value);
        }
        default -> require(false, "%s: expected label, tags, note, kept or archived", key);
      }
    }
    return new RunNotes(changed);
  }

  /** Writes the notes into the run's folder. */
  void write(RunDirectory run) {
    run.write(run.notes(), json);
  }

  /**
   * Checks a name for a run; an empty one removes it.
   *
   * @param key where it was given
   * @return the name without blanks around it
   * @throws IllegalArgumentException saying what is wrong with it
   */
  static String label(String key, Object value) {
    require(value instanceof String, key + ": found %s, expected a text", value);
    String label = ((String) value).strip();
    require(
        label.length() <= LABEL_CHARACTERS && isPlain(label, Set.of()),
        key
            + ": found \"%s\", "
            + label.length()
            + " characters, expected up to 60 characters on one line",
        cut(label, LABEL_CHARACTERS));
    return label;
  }

  private static JsonArray tags(Object value) {
    require(value instanceof JsonArray, "tags: found %s, expected a list of words", value);
    List<String> tags =
        ((JsonArray) value)
            .stream()
                .map(tag -> tag instanceof String word ? word.strip() : "")
                .distinct()
                .toList();
    require(tags.size() <= MOST_TAGS, "tags: found %d, expected at most 16", tags.size());
    for (String tag : tags) {
      require(
          !tag.isEmpty() && tag.length() <= TAG_CHARACTERS && isPlain(tag, Set.of()),
          "tags: found \"%s\", expected 1 to 40 characters on one line",
          tag);
    }
    return new JsonArray(tags);
  }

  private static String note(Object value) {
    require(value instanceof String, "note: found %s, expected a text", value);
    String note = ((String) value).strip();
    require(
        note.length() <= NOTE_CHARACTERS,
        "note: found %,d characters, expected at most 4,000",
        note.length());
    require(
        isPlain(note, Set.of((int) '\n', (int) '\r', (int) '\t')),
        "note: found a control character, expected letters and line ends",
        "");
    return note;
  }

  private static boolean isPlain(String text, Set<Integer> allowed) {
    return text.codePoints()
        .allMatch(
            c ->
                allowed.contains(c)
                    || !Character.isISOControl(c) && Character.getType(c) != Character.SURROGATE);
  }

  private static void require(boolean holds, String otherwise, Object... found) {
    if (!holds) {
      throw new IllegalArgumentException(String.format(Locale.ROOT, otherwise, found));
    }
  }
}
