package io.vertigrad.launcher.terminal;

import io.vertigrad.launcher.run.FinishedRun;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Runs side by side: a column each, and their accuracies at shared counts of samples. */
public final class ComparisonText {

  private static final int COUNTS = 8;
  private static final double MIB = 1 << 20;
  private static final String NOTHING = "-";

  private final List<FinishedRun> runs;
  private final List<List<String>> rows = new ArrayList<>();

  private ComparisonText(List<FinishedRun> runs) {
    this.runs = runs;
  }

  /** The table, line by line. */
  public static List<String> of(List<FinishedRun> runs) {
    ComparisonText text = new ComparisonText(runs);
    text.row("", FinishedRun::name);
    text.summaries();
    List<String> lines = text.takeLines();
    text.accuracies();
    lines.addAll(text.takeLines());
    return lines;
  }

  private void summaries() {
    for (String key : new String[] {"strategy", "workers", "servers", "steps", "encoding"}) {
      row(key, run -> String.valueOf(run.summary().getValue(key, NOTHING)));
    }
    number("samples/s", "%,.0f", "samplesPerSecond", 1);
    number("accuracy, %", "%.2f", "accuracy", 1);
    number("loss", "%.4f", "loss", 1);
    number("staleness, mean", "%.2f", "meanStaleness", 1);
    number("sent, MiB", "%,.1f", "bytesSent", MIB);
    number("saved, MiB", "%,.1f", "bytesSaved", MIB);
    number("seconds", "%,.1f", "seconds", 1);
    share("  computing, %", "secondsComputing");
    share("  exchanging, %", "secondsExchanging");
    share("  waiting, %", "secondsWaitingForData");
  }

  private void accuracies() {
    double first = runs.stream().mapToDouble(FinishedRun::firstTested).max().orElse(0);
    double last = runs.stream().mapToDouble(FinishedRun::lastTested).min().orElse(0);
    if (first > last) {
      rows.add(List.of("no count of samples at which all were tested"));
      return;
    }
    row("accuracy, % after", run -> "");
    for (int i = 0; i < COUNTS; i++) {
      double samples = first + (last - first) * i / (COUNTS - 1);
      row(
          EventText.format("  %,.0f samples", samples),
          run ->
              run.accuracyAt(samples).stream()
                  .mapToObj(accuracy -> EventText.format("%.2f", accuracy))
                  .findFirst()
                  .orElse(NOTHING));
    }
  }

  private void number(String label, String format, String key, double divisor) {
    row(
        label,
        run ->
            run.summary().getValue(key) instanceof Number found
                ? EventText.format(format, found.doubleValue() / divisor)
                : NOTHING);
  }

  /** Of the time that all workers spent. */
  private void share(String label, String key) {
    row(
        label,
        run -> {
          JsonObject found = run.summary();
          double all =
              found.getDouble("secondsComputing", 0.0)
                  + found.getDouble("secondsExchanging", 0.0)
                  + found.getDouble("secondsWaitingForData", 0.0);
          double part = found.getDouble(key, 0.0);
          return all == 0 ? NOTHING : EventText.format("%.0f", 100 * part / all);
        });
  }

  private void row(String label, Function<FinishedRun, String> cell) {
    List<String> cells = new ArrayList<>(List.of(label));
    runs.forEach(run -> cells.add(cell.apply(run)));
    rows.add(cells);
  }

  /** Labels to the left, numbers to the right, columns as wide as they need. */
  private List<String> takeLines() {
    int columns = rows.stream().mapToInt(List::size).max().orElse(0);
    int[] widths =
        IntStream.range(0, columns)
            .map(
                c ->
                    rows.stream()
                        .mapToInt(row -> c < row.size() ? row.get(c).length() : 0)
                        .max()
                        .orElse(0))
            .toArray();
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int c = 0; c < row.size(); c++) {
        String blank = " ".repeat(widths[c] - row.get(c).length());
        line.append(c == 0 ? row.get(c) + blank : "  " + blank + row.get(c));
      }
      lines.add(line.toString().stripTrailing());
    }
    rows.clear();
    return lines;
  }
}
