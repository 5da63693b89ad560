package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Formats the list of runs as lines for a terminal. */
final class RunsText {

  private static final List<String> HEADING =
      List.of(
          "run",
          "state",
          "begun",
          "seconds",
          "accuracy",
          "loss",
          "samples/s",
          "strategy",
          "model",
          "data");

  /** Columns of words; the others up to the last of {@link #HEADING} have numbers. */
  private static final Set<Integer> WORDS = Set.of(0, 1, 2, 7, 8, 9);

  private static final int MOST_SETTINGS = 4;
  private static final int SETTING_CHARACTERS = 24;

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm", Locale.ROOT);
  private static final int NOTE_CHARACTERS = 40;
  private static final String NOTHING = "-";

  private RunsText() {}

  /**
   * Returns a line per run, with the settings in which most of them differ, a line that names the
   * other such settings, and a further one for each run whose folder has a problem.
   */
  static List<String> of(List<JsonObject> rows) {
    List<String> differing = differing(rows);
    List<String> settings = differing.stream().limit(MOST_SETTINGS).toList();
    List<String> heading = new ArrayList<>(HEADING);
    settings.forEach(key -> heading.add(plain(title(key, settings))));
    heading.add("notes");
    Set<Integer> words = new HashSet<>(WORDS);
    words.add(HEADING.size() + settings.size());
    List<List<String>> table = new ArrayList<>(List.of(heading));
    rows.forEach(row -> table.add(cells(row, settings)));
    List<String> lines = ComparisonText.lines(table, words);
    List<String> others = differing.subList(settings.size(), differing.size());
    if (!others.isEmpty()) {
      lines.add(plain("they also differ in " + String.join(", ", others)));
    }
    for (JsonObject row : rows) {
      if (row.containsKey(RunRow.PROBLEM)) {
        lines.add(plain(row.getString("name") + ": " + row.getString(RunRow.PROBLEM)));
      }
    }
    return lines;
  }

  /**
   * Returns the keys of the settings in which runs differ, as the page does (runs-columns.js):
   * those first by which the most runs differ, those last that some runs lack, else by name. When
   * the names of strategies or others differ, only the settings that all of them have are compared.
   * Runs without settings do not count. Names of strategies, models and data have columns anyway.
   */
  static List<String> differing(List<JsonObject> rows) {
    List<JsonObject> known =
        rows.stream().map(RunRow::settings).filter(settings -> !settings.isEmpty()).toList();
    Set<String> keys = new TreeSet<>();
    known.forEach(settings -> keys.addAll(settings.fieldNames()));
    Map<String, Integer> unlike = new TreeMap<>();
    Set<String> lacking = new HashSet<>();
    for (String key : keys) {
      Map<String, Long> counts =
          known.stream()
              .collect(Collectors.groupingBy(one -> setting(one, key), Collectors.counting()));
      if (counts.size() > 1) {
        unlike.put(key, (int) (known.size() - Collections.max(counts.values())));
        if (counts.containsKey(NOTHING)) {
          lacking.add(key);
        }
      }
    }
    return unlike.keySet().stream()
        .filter(key -> rows.stream().noneMatch(row -> RunRow.hasColumn(row, key)))
        .filter(key -> !lacking.contains(key) || !unlike.containsKey(nameBeside(key)))
        .sorted(
            Comparator.<String, Boolean>comparing(lacking::contains)
                .thenComparing(key -> -unlike.get(key)))
        .toList();
  }

  private static String nameBeside(String key) {
    return key.substring(0, Math.max(0, key.lastIndexOf('.'))) + RunRow.NAME_KEY;
  }

  private static String setting(JsonObject settings, String key) {
    Object value = settings.getValue(key);
    return value == null ? NOTHING : value.equals("") ? "\"\"" : value.toString();
  }

  /** Returns the last word of a key, or the whole key if others of these end in that word. */
  private static String title(String key, List<String> keys) {
    String last = key.substring(key.lastIndexOf('.') + 1);
    boolean alone = keys.stream().filter(other -> ("." + other).endsWith("." + last)).count() == 1;
    return alone && !HEADING.contains(last) ? last : key;
  }

  private static List<String> cells(JsonObject row, List<String> settings) {
    JsonObject own = RunRow.settings(row);
    Stream<String> before =
        Stream.of(
            name(row),
            state(row),
            TIME.format(
                Instant.ofEpochMilli(row.getLong("startedMillis")).atZone(ZoneId.systemDefault())),
            number(row, "seconds", "%,.1f"),
            metric(row),
            number(row, "loss", "%.4f"),
            number(row, "samplesPerSecond", "%,.0f"),
            row.getString("strategy", NOTHING),
            row.getString("model", NOTHING),
            row.getString("data", NOTHING));
    Stream<String> differing =
        settings.stream().map(key -> shortened(setting(own, key), SETTING_CHARACTERS));
    return Stream.of(before, differing, Stream.of(notes(row)))
        .flatMap(cells -> cells)
        .map(RunsText::plain)
        .toList();
  }

  /**
   * Returns the folder's name, which the commands take, and the name that a person gave the run.
   */
  private static String name(JsonObject row) {
    String label = row.getString(RunNotes.LABEL, "");
    return row.getString("name") + (label.isEmpty() ? "" : " (%s)".formatted(label));
  }

  /** Returns the state of a run, with how far it is and what is wrong with it. */
  static String state(JsonObject row) {
    String state = row.getString(RunRow.STATE);
    double last = row.getDouble("lastVersion", 0.0);
    boolean running = state.equals(RunRow.RUNNING) && last > 0 && row.containsKey("version");
    return state
        + (running ? format(" %.0f %%", 100 * row.getDouble("version") / last) : "")
        + (row.containsKey("diverged") ? ", diverged" : "")
        + (row.containsKey(RunRow.GUESSES) ? ", no better than guessing" : "")
        + (row.getValue(RunRow.OUTLIERS) instanceof JsonArray outliers
            ? format(", %d outlier%s", outliers.size(), outliers.size() == 1 ? "" : "s")
            : "");
  }

  private static String metric(JsonObject row) {
    Metric metric = Metric.of(row.getString("metric", ""));
    String key = metric == Metric.ACCURACY ? "accuracy" : "metricValue";
    if (!(row.getValue(key) instanceof Number value)) {
      return NOTHING;
    }
    String name = metric == Metric.ACCURACY ? "" : metric.label() + " ";
    boolean part = Boolean.FALSE.equals(row.getValue(RunRow.WHOLE_TEST_SET));
    return name
        + metric.figure(value.doubleValue())
        + (part ? format(" of %,d samples", row.getLong(RunRow.TEST_SAMPLES, 0L)) : "");
  }

  private static String notes(JsonObject row) {
    String note = row.getString(RunNotes.NOTE, "");
    String tags =
        row.getJsonArray(RunNotes.TAGS, new JsonArray()).stream()
            .map(tag -> "[" + tag + "]")
            .collect(Collectors.joining(" "));
    return Stream.of(
            row.containsKey(RunNotes.KEPT) ? "kept" : "",
            row.containsKey(RunNotes.ARCHIVED) ? "archived" : "",
            tags,
            shortened(note, NOTE_CHARACTERS))
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining(" "));
  }

  private static String shortened(String text, int characters) {
    return text.length() > characters ? text.substring(0, characters) + "..." : text;
  }

  private static String number(JsonObject row, String key, String pattern) {
    return row.getValue(key) instanceof Number value
        ? format(pattern, value.doubleValue())
        : NOTHING;
  }

  /** Removes what could move the cursor: names and notes may hold anything. */
  private static String plain(String text) {
    return text.replaceAll("\\p{Cntrl}+", " ");
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
