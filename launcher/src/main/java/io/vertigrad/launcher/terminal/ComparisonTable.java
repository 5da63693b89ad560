package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Metric;
import io.vertigrad.launcher.run.FinishedRun;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Runs side by side, in words: a column each, and their accuracies at shared counts of samples.
 *
 * <p>Every row is a label and a cell for each run; or one cell alone, that says what is missing.
 */
public final class ComparisonTable {

  private static final int COUNTS = 8;
  private static final double MIB = 1 << 20;
  private static final String NOTHING = "-";
  private static final String FINISHED = "finished";

  private final List<FinishedRun> runs;
  private final List<List<String>> summaries = new ArrayList<>();
  private final List<List<String>> accuracies = new ArrayList<>();

  private ComparisonTable(List<FinishedRun> runs) {
    this.runs = runs;
  }

  /** The table of these runs. */
  public static ComparisonTable of(List<FinishedRun> runs) {
    ComparisonTable table = new ComparisonTable(runs);
    table.summarise();
    table.test();
    return table;
  }

  /** An empty label and the runs' names. */
  public List<String> heading() {
    return row("", FinishedRun::name);
  }

  /** What each run was and came to. */
  public List<List<String>> summaries() {
    return List.copyOf(summaries);
  }

  /** Accuracy in percent, a row for each count of samples. */
  public List<List<String>> accuracies() {
    return List.copyOf(accuracies);
  }

  private void summarise() {
    for (String key : new String[] {"strategy", "workers", "servers", "steps", "encoding"}) {
      summaries.add(row(key, run -> String.valueOf(run.summary().getValue(key, NOTHING))));
    }
    if (runs.stream().anyMatch(run -> !state(run).equals(FINISHED))) {
      summaries.add(row("state", ComparisonTable::state));
    }
    number("samples/s", "%,.0f", "samplesPerSecond", 1);
    boolean others = runs.stream().anyMatch(run -> run.metric() != Metric.ACCURACY);
    if (!others || runs.stream().anyMatch(run -> run.summary().containsKey("accuracy"))) {
      number("accuracy, %", "%.2f", "accuracy", 1);
    }
    for (Metric metric : Metric.values()) {
      if (runs.stream().anyMatch(run -> run.summary().containsKey(metric.key()))) {
        String format = metric == Metric.LABEL_ACCURACY ? "%.2f" : "%.4g";
        number(label(metric), format, metric.key(), 1);
      }
    }
    number("loss", "%.4f", "loss", 1);
    number("staleness, mean", "%.2f", "meanStaleness", 1);
    number("sent, MiB", "%,.1f", "bytesSent", MIB);
    number("saved, MiB", "%,.1f", "bytesSaved", MIB);
    number("seconds", "%,.1f", "seconds", 1);
    share("  computing, %", "secondsComputing");
    share("  exchanging, %", "secondsExchanging");
    share("  waiting, %", "secondsWaitingForData");
  }

  /** Runs of before there was a state have come to their end. */
  private static String state(FinishedRun run) {
    return run.summary().getString("state", FINISHED);
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
      accuracies.add(
          row(EventText.format("  %,.0f samples", samples), run -> accuracy(run, samples)));
    }
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
                    ? EventText.format(format, found.doubleValue() / divisor)
                    : NOTHING));
  }

  /** Of the time that all workers spent. */
  private void share(String label, String key) {
    summaries.add(row(label, run -> share(run.summary(), key)));
  }

  private static String share(JsonObject found, String key) {
    double all =
        found.getDouble("secondsComputing", 0.0)
            + found.getDouble("secondsExchanging", 0.0)
            + found.getDouble("secondsWaitingForData", 0.0);
    double part = found.getDouble(key, 0.0);
    return all == 0 ? NOTHING : EventText.format("%.0f", 100 * part / all);
  }

  private List<String> row(String label, Function<FinishedRun, String> cell) {
    List<String> cells = new ArrayList<>(List.of(label));
    runs.forEach(run -> cells.add(cell.apply(run)));
    return cells;
  }
}
