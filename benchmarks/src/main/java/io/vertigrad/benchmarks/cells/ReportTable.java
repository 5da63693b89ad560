package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.report.BenchmarkTable;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.DoubleFunction;
import java.util.regex.Pattern;

/** A report as Markdown: medians, ranges, and ratios over peers by turn. */
final class ReportTable {

  private static final Pattern OTHER_PLACES = Pattern.compile(", (processes|streams)(?=,|$)");

  private final ReportFile report;
  private final StringBuilder text = new StringBuilder();

  ReportTable(ReportFile report) {
    this.report = report;
    addHeader();
    addRows();
    text.append(WeakScaling.table(report));
    addNotes();
  }

  @Override
  public String toString() {
    return text.toString();
  }

  private void addHeader() {
    JsonObject machine = report.machine();
    ReportOptions options = report.options();
    line("# Measured" + (options.quick() ? ", quick: not to be quoted" : ""));
    line("");
    line("| | |");
    line("| --- | --- |");
    line("| revision | `%s` |".formatted(machine.getString("revision")));
    line("| date | %s |".formatted(report.date()));
    report.commands().forEach(command -> line("| command | `%s` |".formatted(escaped(command))));
    line(
        String.format(
            Locale.ROOT,
            "| machine | %s, %d cores, %.1f GiB |",
            machine.getString("cpu"),
            machine.getInteger("cores"),
            machine.getLong("memoryBytes") / 0x1p30));
    line("| Java | %s |".formatted(machine.getString("jvm")));
    line("| kernel | %s |".formatted(machine.getString("system")));
    load().ifPresent(load -> line("| load before a cell | %s |".formatted(load)));
    line("");
  }

  /** Returns the median and the range of the load averages. */
  private Optional<String> load() {
    List<Double> loads = report.measurements().stream().map(Measured::load).toList();
    return loads.isEmpty()
        ? Optional.empty()
        : Optional.of(
            "%s, %s"
                .formatted(median(loads, ReportTable::ratio), range(loads, ReportTable::ratio)));
  }

  private void addRows() {
    line(
        "| cell | unit | better | turns | median | range | peer | range | ours / peer | range"
            + " | over one JVM | range |");
    line("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    report.measuredCells().forEach(this::addCell);
    line("");
  }

  private void addCell(String cell) {
    Optional<String> peer = report.peerOf(cell);
    for (Figure figure : Figure.values()) {
      Map<Integer, Double> ours = report.byTurn(cell, false, figure);
      if (!ours.isEmpty()) {
        Map<Integer, Double> theirs =
            peer.map(key -> report.byTurn(key, true, figure)).orElse(Map.of());
        Collection<Double> ratios = ratios(ours, theirs).values();
        Collection<Double> overOneJvm =
            ratios(
                    ours,
                    oneJvm(cell).map(one -> report.byTurn(one, false, figure)).orElse(Map.of()))
                .values();
        line(
            "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |"
                .formatted(
                    cell,
                    figure.unit(),
                    figure.higherIsBetter() ? "more" : "less",
                    ours.size(),
                    median(ours.values(), BenchmarkTable::number),
                    range(ours.values(), BenchmarkTable::number),
                    median(theirs.values(), BenchmarkTable::number),
                    range(theirs.values(), BenchmarkTable::number),
                    median(ratios, ReportTable::ratio),
                    range(ratios, ReportTable::ratio),
                    median(overOneJvm, ReportTable::ratio),
                    range(overOneJvm, ReportTable::ratio)));
      }
    }
  }

  /** Returns the name of the same cell in one JVM; empty for that cell itself. */
  private static Optional<String> oneJvm(String cell) {
    return Optional.of(OTHER_PLACES.matcher(cell).replaceFirst(", one JVM"))
        .filter(name -> !name.equals(cell));
  }

  /** Returns the ratios by turn, of the turns that have both. */
  static Map<Integer, Double> ratios(Map<Integer, Double> ours, Map<Integer, Double> others) {
    Map<Integer, Double> ratios = new TreeMap<>();
    ours.forEach(
        (turn, value) -> {
          if (others.containsKey(turn)) {
            ratios.put(turn, value / others.get(turn));
          }
        });
    return ratios;
  }

  private void addNotes() {
    report.notes().forEach(note -> line("- note: " + note.lines().findFirst().orElse("")));
    report.skipped().forEach((cell, reason) -> line("- skipped: %s: %s".formatted(cell, reason)));
    report.measurements().stream()
        .filter(one -> one.failure().isPresent())
        .forEach(
            one ->
                line(
                    "- failed: %s%s, turn %s: %s"
                        .formatted(
                            one.peer() ? "peer of " : "",
                            one.cell(),
                            one.turn(),
                            one.failure().get().lines().findFirst().orElse(""))));
  }

  static String ratio(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private void line(String words) {
    text.append(words).append('\n');
  }

  static String median(Collection<Double> values, DoubleFunction<String> format) {
    return values.isEmpty() ? "" : format.apply(Repetitions.of(values).median());
  }

  static String range(Collection<Double> values, DoubleFunction<String> format) {
    if (values.isEmpty()) {
      return "";
    }
    Repetitions all = Repetitions.of(values);
    return "%s to %s".formatted(format.apply(all.min()), format.apply(all.max()));
  }

  /** Returns text whose bars do not end a column. */
  private static String escaped(String cell) {
    return cell.replace("|", "\\|");
  }
}
