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
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Formats the list of runs as CSV by RFC 4180, with the columns of the page: a column for each
 * setting in which the runs differ, and none that all runs lack. Numbers are not rounded; times
 * have the zone of this machine.
 */
final class RunsCsv {

  private static final String LINE_END = "\r\n";
  private static final Pattern QUOTED = Pattern.compile("[\",\r\n]");

  /** What a spreadsheet would take for a formula. */
  private static final Pattern FORMULA = Pattern.compile("[=+\\-@\t\r].*", Pattern.DOTALL);

  /** Settings that have columns of their own. */
  private static final Set<String> SHOWN =
      Set.of("strategy.name", "model.name", "data.name", "workers.device");

  private RunsCsv() {}

  /** Returns a line of titles, and one for each run. */
  static String of(List<JsonObject> rows) {
    Map<String, Function<JsonObject, Object>> columns = columns(rows);
    columns.entrySet().removeIf(column -> rows.stream().allMatch(isEmpty(column.getValue())));
    StringBuilder csv = new StringBuilder(line(new ArrayList<>(columns.keySet())));
    for (JsonObject row : rows) {
      csv.append(line(columns.values().stream().map(column -> column.apply(row)).toList()));
    }
    return csv.toString();
  }

  private static Predicate<JsonObject> isEmpty(Function<JsonObject, Object> column) {
    return row -> column.apply(row) == null;
  }

  private static Map<String, Function<JsonObject, Object>> columns(List<JsonObject> rows) {
    Map<String, Function<JsonObject, Object>> columns = new LinkedHashMap<>();
    columns.put("run", row -> row.getString("name"));
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
    columns.put("test loss", row -> row.getValue("loss"));
    columns.put("samples/s", row -> row.getValue("samplesPerSecond"));
    RunsText.differing(rows).stream()
        .filter(key -> !SHOWN.contains(key))
        .forEach(key -> columns.put(key, row -> setting(row, key)));
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
    return row.getJsonObject("settings", new JsonObject()).getValue(key);
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
