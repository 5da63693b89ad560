package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Compares runs side by side: one column per run, and their accuracies at the same sample counts.
 *
 * <p>Every row is a label and a cell for each run, or one cell that says what is missing.
 */
final class ComparisonTable {

  private static final int COUNTS = 8;
  private static final int MOST_SCALARS = 32;
  private static final double MIB = 1 << 20;
  private static final String NOTHING = "-";

  private final List<FinishedRun> runs;
  private final List<List<String>> summaries = new ArrayList<>();
  private final List<List<String>> accuracies = new ArrayList<>();

  private ComparisonTable(List<FinishedRun> runs) {
    this.runs = runs;
  }

  /** Returns the table of these runs. */
  static ComparisonTable of(List<FinishedRun> runs) {
    ComparisonTable table = new ComparisonTable(runs);
    table.summarise();
    table.test();
    return table;
  }

  /** Returns an empty label and the runs' names. */
  List<String> heading() {
    return row("", FinishedRun::name);
  }

  /** Returns the settings and the results of each run. */
  List<List<String>> summaries() {
    return List.copyOf(summaries);
  }

  /** Returns the accuracies in percent, one row for each sample count. */
  List<List<String>> accuracies() {
    return List.copyOf(accuracies);
  }

  private void summarise() {
    summaries.add(row("state", FinishedRun::state));
    summaries.add(row("model", run -> setting(run, "model.name")));
    summaries.add(row("data", run -> setting(run, "data.name")));
    if (runs.stream().flatMap(run -> run.dataHash().stream()).distinct().count() > 1) {
      summaries.add(
          List.of("the runs have other data: their accuracies and losses do not compare"));
    }
    summaries.add(row("strategy", run -> summary(run, "strategy")));
    summaries.add(row("workers", run -> summary(run, "workers")));
    summaries.add(row("servers", run -> summary(run, "servers")));
    summaries.add(row("batch of a worker", run -> setting(run, "workers.batch")));
    summaries.add(row("optimizer", run -> setting(run, "optimizer.name")));
    summaries.add(row("learning rate", run -> setting(run, "optimizer.learningRate")));
    summaries.add(row("encoding", run -> summary(run, "encoding")));
    summaries.add(row("steps of a worker", run -> summary(run, "steps")));
    summaries.add(row("done", ComparisonTable::done));
    number("samples", "%,.0f", "samples", 1);
    number("samples/s", "%,.0f", "samplesPerSecond", 1);
    boolean others = runs.stream().anyMatch(run -> run.metric() != Metric.ACCURACY);
    if (!others || runs.stream().anyMatch(run -> run.summary().containsKey("accuracy"))) {
      number("accuracy, %", "%.2f", "accuracy", 1);
    }
    for (Metric metric : Metric.values()) {
      if (runs.stream().anyMatch(run -> run.summary().containsKey(metric.key()))) {
        summaries.add(row(label(metric), run -> figure(metric, run.summary())));
      }
    }
    summaries.add(row("tested on", ComparisonTable::testedOn));
    number("loss", "%.4f", "loss", 1);
    number("staleness, mean", "%.2f", "meanStaleness", 1);
    number("sent, MiB", "%,.1f", "bytesSent", MIB);
    number("saved, MiB", "%,.1f", "bytesSaved", MIB);
    number("seconds", "%,.1f", "seconds", 1);
    share("  computing, %", "secondsComputing");
    share("  exchanging, %", "secondsExchanging");
    share("  waiting, %", "secondsWaitingForData");
    scalars();
  }

  /** Adds a row with the last value for each of the first scalars of all runs. */
  private void scalars() {
    List<String> names =
        runs.stream().flatMap(run -> run.scalars().stream()).distinct().sorted().toList();
    names.stream()
        .limit(MOST_SCALARS)
        .forEach(name -> summaries.add(row(name + ", last", run -> scalar(run, name))));
    if (names.size() > MOST_SCALARS) {
      summaries.add(List.of("further scalars: " + (names.size() - MOST_SCALARS)));
    }
  }

  private static String scalar(FinishedRun run, String name) {
    return run.scalar(name).stream()
        .mapToObj(value -> Double.isFinite(value) ? format("%.4g", value) : "not finite")
        .findFirst()
        .orElse(NOTHING);
  }

  private static String summary(FinishedRun run, String key) {
    return String.valueOf(run.summary().getValue(key, NOTHING));
  }

  private static String setting(FinishedRun run, String key) {
    return run.setting(key)
        .map(value -> value instanceof Double number ? plain(number) : String.valueOf(value))
        .orElse(NOTHING);
  }

  /** Formats a number without an exponent, such as 0.0001. */
  static String plain(double number) {
    return BigDecimal.valueOf(number).stripTrailingZeros().toPlainString();
  }

  /**
   * Returns the versions done. A round of all workers and an update by one worker do not compare,
   * so samples have their own row.
   */
  private static String done(FinishedRun run) {
    return run.summary().getValue("version") instanceof Number version
        ? format("%,d ", version.longValue()) + run.counted().orElse("versions")
        : NOTHING;
  }

  private static String testedOn(FinishedRun run) {
    boolean part = Boolean.FALSE.equals(run.summary().getValue(RunRow.WHOLE_TEST_SET));
    return run.summary().getValue(RunRow.TEST_SAMPLES) instanceof Number samples
        ? format("%,d%s", samples.longValue(), part ? ", not all" : "")
        : NOTHING;
  }

  private void test() {
    double first = runs.stream().mapToDouble(FinishedRun::firstTested).max().orElse(0);
    double last = runs.stream().mapToDouble(FinishedRun::lastTested).min().orElse(0);
    if (first > last) {
      accuracies.add(List.of("no count of samples at which all were tested"));
      return;
    }
    Set<Metric> metrics =
        runs.stream()
            .map(FinishedRun::metric)
            .collect(Collectors.toCollection(() -> EnumSet.noneOf(Metric.class)));
    String labels = metrics.stream().map(ComparisonTable::label).collect(Collectors.joining("; "));
    accuracies.add(row(labels + " after", run -> ""));
    for (int i = 0; i < COUNTS; i++) {
      double samples = first + (last - first) * i / (COUNTS - 1);
      accuracies.add(row(format("  %,.0f samples", samples), run -> accuracy(run, samples)));
    }
  }

  private static String figure(Metric metric, JsonObject summary) {
    return summary.getValue(metric.key()) instanceof Number found
        ? metric.figure(found.doubleValue()).replace(" %", "")
        : NOTHING;
  }

  private static String label(Metric metric) {
    return metric == Metric.ACCURACY || metric == Metric.LABEL_ACCURACY
        ? metric.label() + ", %"
        : metric.label();
  }

  private static String accuracy(FinishedRun run, double samples) {
    return run.accuracyAt(samples).stream()
        .mapToObj(accuracy -> run.metric().figure(accuracy).replace(" %", ""))
        .findFirst()
        .orElse(NOTHING);
  }

  private void number(String label, String format, String key, double divisor) {
    summaries.add(
        row(
            label,
            run ->
                run.summary().getValue(key) instanceof Number found
                    ? format(format, found.doubleValue() / divisor)
                    : NOTHING));
  }

  /** Adds a row with the share of the time that all workers spent. */
  private void share(String label, String key) {
    summaries.add(row(label, run -> share(run.summary(), key)));
  }

  private static String share(JsonObject found, String key) {
    double all =
        found.getDouble("secondsComputing", 0.0)
            + found.getDouble("secondsExchanging", 0.0)
            + found.getDouble("secondsWaitingForData", 0.0);
    double part = found.getDouble(key, 0.0);
    return all == 0 ? NOTHING : format("%.0f", 100 * part / all);
  }

  private List<String> row(String label, Function<FinishedRun, String> cell) {
    List<String> cells = new ArrayList<>(List.of(label));
    runs.forEach(run -> cells.add(cell.apply(run)));
    return cells;
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
