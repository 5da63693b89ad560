package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Formats the list of runs as CSV by RFC 4180, with the columns of the page: a column for each
 * setting in which the runs differ, and none that all runs lack. Numbers are not rounded; times
 * have the zone of this machine.
 */
final class RunsCsv {

  private static final String RUN = "run";
  private static final String LINE_END = "\r\n";
  private static final Pattern QUOTED = Pattern.compile("[\",\r\n]");

  /** What a spreadsheet would take for a formula. */
  private static final Pattern FORMULA = Pattern.compile("[=+\\-@\t\r].*", Pattern.DOTALL);

  private RunsCsv() {}

  /** Returns a line of titles, and one for each run. */
  static String of(List<JsonObject> rows) {
    Map<String, Function<JsonObject, Object>> columns = columns(rows);
    columns
        .entrySet()
        .removeIf(
            column ->
                !column.getKey().equals(RUN)
                    && rows.stream().allMatch(row -> column.getValue().apply(row) == null));
    StringBuilder csv = new StringBuilder(line(new ArrayList<>(columns.keySet())));
    for (JsonObject row : rows) {
      csv.append(line(columns.values().stream().map(column -> column.apply(row)).toList()));
    }
    return csv.toString();
  }

  private static Map<String, Function<JsonObject, Object>> columns(List<JsonObject> rows) {
    Map<String, Function<JsonObject, Object>> columns = new LinkedHashMap<>();
    columns.put(RUN, row -> row.getString("name"));
    columns.put("name", row -> row.getValue(RunNotes.LABEL));
    columns.put("state", RunsText::state);
    columns.put("begun", RunsCsv::begun);
    columns.put("seconds", row -> row.getValue("seconds"));
    columns.put("accuracy", row -> row.getValue("accuracy"));
    rows.stream()
        .map(row -> row.getString("metric", ""))
        .filter(key -> !key.isEmpty())
        .distinct()
        .sorted()
        .forEach(
            key ->
                columns.put(
                    Metric.of(key).label(),
                    row ->
                        key.equals(row.getString("metric")) ? row.getValue("metricValue") : null));
    columns.put("tested on", row -> row.getValue(RunRow.TEST_SAMPLES));
    columns.put("whole test set", row -> row.getValue(RunRow.WHOLE_TEST_SET));
    columns.put("test loss", row -> row.getValue("loss"));
    columns.put("samples/s", row -> row.getValue("samplesPerSecond"));
    for (String key : RunsText.differing(rows)) {
      if (!key.equals(RunRow.DEVICE)) {
        columns.put(key, row -> setting(row, key));
      }
    }
    columns.put("tags", RunsCsv::tags);
    for (String key : List.of(RunNotes.NOTE, "strategy", "model", "data", "device")) {
      columns.put(key, row -> row.getValue(key));
    }
    columns.put(RunNotes.KEPT, row -> row.getValue(RunNotes.KEPT));
    columns.put(RunNotes.ARCHIVED, row -> row.getValue(RunNotes.ARCHIVED));
    return columns;
  }

  private static Object begun(JsonObject row) {
    return DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(
        Instant.ofEpochMilli(row.getLong("startedMillis"))
            .truncatedTo(ChronoUnit.SECONDS)
            .atZone(ZoneId.systemDefault()));
  }

  private static Object tags(JsonObject row) {
    JsonArray tags = row.getJsonArray(RunNotes.TAGS, new JsonArray());
    return tags.isEmpty()
        ? null
        : tags.stream().map(String::valueOf).collect(Collectors.joining(", "));
  }

  private static Object setting(JsonObject row, String key) {
    return RunRow.settings(row).getValue(key);
  }

  private static String line(List<?> cells) {
    return cells.stream().map(RunsCsv::cell).collect(Collectors.joining(",", "", LINE_END));
  }

  private static String cell(Object value) {
    if (value == null) {
      return "";
    }
    String text = String.valueOf(value);
    String safe = !(value instanceof Number) && FORMULA.matcher(text).matches() ? "'" + text : text;
    return QUOTED.matcher(safe).find() ? '"' + safe.replace("\"", "\"\"") + '"' : safe;
  }
}
