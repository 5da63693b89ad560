package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
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
          "data",
          "notes");

  /** Columns of words; the others have numbers. */
  private static final Set<Integer> WORDS = Set.of(0, 1, 2, 7, 8, 9, 10);

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm", Locale.ROOT);
  private static final int NOTE_CHARACTERS = 40;
  private static final String NOTHING = "-";

  private RunsText() {}

  /** Returns a line per run, and a further one for each whose folder has a problem. */
  static List<String> of(List<JsonObject> rows) {
    List<List<String>> table = new ArrayList<>(List.of(HEADING));
    rows.forEach(row -> table.add(cells(row)));
    List<String> lines = ComparisonText.lines(table, WORDS);
    for (JsonObject row : rows) {
      if (row.containsKey(RunRow.PROBLEM)) {
        lines.add(plain(row.getString("name") + ": " + row.getString(RunRow.PROBLEM)));
      }
    }
    return lines;
  }

  private static List<String> cells(JsonObject row) {
    return Stream.of(
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
            row.getString("data", NOTHING),
            notes(row))
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
            note.length() > NOTE_CHARACTERS ? note.substring(0, NOTE_CHARACTERS) + "..." : note)
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining(" "));
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
