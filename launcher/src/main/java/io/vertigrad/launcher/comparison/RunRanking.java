package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Decides which of several runs is the best one: for the page, for {@code runs --json} and for
 * {@code compare}.
 *
 * <p>Runs compare if they were tested on the same samples by the same metric: they have the same
 * text {@code comparable}. Those that were tested on all test samples have a {@code rank} among
 * these: 1 for the best, the same for equal results.
 */
final class RunRanking {

  static final String COMPARABLE = "comparable";
  static final String RANK = "rank";

  private static final int NAMED = 4;

  private RunRanking() {}

  /** Returns copies of the rows with {@code comparable} and {@code rank}, where they have these. */
  static List<JsonObject> ranked(List<JsonObject> rows) {
    Map<String, List<JsonObject>> kinds = new HashMap<>();
    List<JsonObject> copies = new ArrayList<>();
    for (JsonObject row : rows) {
      JsonObject copy = new JsonObject(new LinkedHashMap<>(row.getMap()));
      copies.add(copy);
      if (value(row).isPresent()) {
        copy.put(COMPARABLE, comparable(row));
        if (!Boolean.FALSE.equals(row.getValue(RunRow.WHOLE_TEST_SET))) {
          kinds.computeIfAbsent(comparable(row), kind -> new ArrayList<>()).add(copy);
        }
      }
    }
    kinds.values().forEach(RunRanking::rank);
    return copies;
  }

  private static void rank(List<JsonObject> kind) {
    Comparator<JsonObject> rising = Comparator.comparingDouble(row -> value(row).orElseThrow());
    boolean lowerIsBetter = lowerIsBetter(metric(kind.get(0)));
    kind.sort(lowerIsBetter ? rising : rising.reversed());
    for (int i = 0; i < kind.size(); i++) {
      JsonObject before = i == 0 ? null : kind.get(i - 1);
      boolean equal = before != null && value(before).equals(value(kind.get(i)));
      kind.get(i).put(RANK, equal ? before.getInteger(RANK) : i + 1);
    }
  }

  /** Runs without a fingerprint are compared by the name of their data. */
  private static String comparable(JsonObject row) {
    return "%s %s %s"
        .formatted(
            row.getString("data", ""), row.getString("dataHash", ""), row.getString("metric", ""));
  }

  private static boolean lowerIsBetter(Metric metric) {
    return metric == Metric.RMSE || metric == Metric.PERPLEXITY;
  }

  private static Metric metric(JsonObject row) {
    return Metric.of(row.getString("metric", ""));
  }

  private static Optional<Double> value(JsonObject row) {
    String key = metric(row) == Metric.ACCURACY ? "accuracy" : "metricValue";
    return row.getValue(key) instanceof Number number
        ? Optional.of(number.doubleValue())
        : Optional.empty();
  }

  /**
   * Returns the sentence that names the best of these runs; {@code verdictOf} of {@code
   * runs-columns.js} makes the same one.
   *
   * @param rows at least two runs
   * @return empty when they do not all compare
   */
  static Optional<String> verdict(List<JsonObject> rows) {
    List<JsonObject> all = ranked(rows);
    boolean compare =
        all.stream().map(row -> row.getString(COMPARABLE)).distinct().count() == 1
            && all.get(0).containsKey(COMPARABLE);
    return compare ? Optional.of(sentence(all)) : Optional.empty();
  }

  private static String sentence(List<JsonObject> all) {
    String metric = metric(all.get(0)).label();
    List<JsonObject> whole = all.stream().filter(row -> row.containsKey(RANK)).toList();
    if (whole.isEmpty()) {
      return "None was tested on all test samples, so none is called the best.";
    }
    List<JsonObject> best = whole.stream().filter(row -> row.getInteger(RANK) == 1).toList();
    JsonObject winner = best.get(0);
    String reached = figure(winner) + onSamples(winner);
    if (whole.size() == 1) {
      return "Only %s was tested on all test samples: %s %s."
          .formatted(called(winner), metric, reached);
    }
    if (best.size() == whole.size()) {
      String which = whole.size() == all.size() ? "All %s runs" : "All %s runs with a whole test";
      return which.formatted(whole.size())
          + " have the same %s: %s.".formatted(metric, figure(winner));
    }
    List<String> also = best.stream().skip(1).map(RunRanking::called).toList();
    return "Best %s: %s by %s%s%s."
        .formatted(metric, reached, called(winner), also(also), why(winner, whole));
  }

  private static String also(List<String> names) {
    int more = names.size() - NAMED;
    String first = String.join(", ", names.subList(0, Math.min(NAMED, names.size())));
    String rest = more <= 0 ? "" : " and %s more run%s".formatted(more, more == 1 ? "" : "s");
    return names.isEmpty() ? "" : " (also %s%s)".formatted(first, rest);
  }

  /** Names the run that differs from the winner in one setting only; empty without such a run. */
  private static String why(JsonObject winner, List<JsonObject> others) {
    JsonObject nearest = null;
    String key = "";
    for (JsonObject other : others) {
      Set<String> unlike = differences(winner, other);
      boolean better = nearest == null || other.getInteger(RANK) < nearest.getInteger(RANK);
      if (unlike.size() == 1 && better) {
        nearest = other;
        key = unlike.iterator().next();
      }
    }
    return nearest == null
        ? ""
        : "; only %s differs from %s (%s, there %s and %s)"
            .formatted(
                key, called(nearest), setting(winner, key), setting(nearest, key), figure(nearest));
  }

  /** With another strategy, model or optimizer, the keys beside its name differ anyway. */
  private static Set<String> differences(JsonObject one, JsonObject other) {
    Set<String> keys = new TreeSet<>();
    if (RunRow.settings(one).isEmpty() || RunRow.settings(other).isEmpty()) {
      return keys;
    }
    keys.addAll(RunRow.settings(one).fieldNames());
    keys.addAll(RunRow.settings(other).fieldNames());
    keys.removeIf(key -> setting(one, key).equals(setting(other, key)));
    List<String> names = keys.stream().filter(key -> key.endsWith(RunRow.NAME_KEY)).toList();
    for (String name : names) {
      String section = name.substring(0, name.length() - RunRow.NAME_KEY.length() + 1);
      keys.removeIf(key -> key.startsWith(section) && !key.equals(name));
    }
    return keys;
  }

  private static String setting(JsonObject row, String key) {
    Object value = RunRow.settings(row).getValue(key);
    return value instanceof Number number
        ? ComparisonTable.plain(number.doubleValue())
        : value == null ? "not set" : value.equals("") ? "\"\"" : String.valueOf(value);
  }

  private static String called(JsonObject row) {
    return row.getString(RunNotes.LABEL, row.getString("name"));
  }

  private static String figure(JsonObject row) {
    return metric(row).figure(value(row).orElseThrow());
  }

  private static String onSamples(JsonObject row) {
    return row.getValue(RunRow.TEST_SAMPLES) instanceof Number samples
        ? String.format(Locale.ROOT, " on %,d samples", samples.longValue())
        : "";
  }
}
