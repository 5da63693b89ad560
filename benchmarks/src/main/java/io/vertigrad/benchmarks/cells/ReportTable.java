package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.marginal.Phases;
import io.vertigrad.benchmarks.report.BenchmarkTable;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
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
    if (report.options().threads()) {
      addThreads();
    }
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
    List<String> columns =
        new ArrayList<>(List.of("cell", "unit", "better", "turns", "median", "range"));
    for (String version : report.versions()) {
      String peer = peer(version);
      columns.addAll(List.of(peer, "range", "ours / " + peer, "range"));
    }
    columns.addAll(List.of("over one JVM", "range"));
    head(columns);
    report.measuredCells().forEach(this::addCell);
    line("");
  }

  private void addCell(String cell) {
    for (Figure figure : Figure.rows()) {
      Map<Integer, Double> ours = report.byTurn(cell, figure);
      if (!ours.isEmpty()) {
        List<String> columns = new ArrayList<>();
        columns.addAll(List.of(cell, figure.unit(), figure.higherIsBetter() ? "more" : "less"));
        columns.add(Integer.toString(ours.size()));
        addMedian(columns, ours, BenchmarkTable::number);
        for (String version : report.versions()) {
          Map<Integer, Double> theirs = report.ofPeer(cell, version, figure);
          addMedian(columns, theirs, BenchmarkTable::number);
          addMedian(columns, ratios(ours, theirs), ReportTable::ratio);
        }
        Map<Integer, Double> oneJvm =
            oneJvm(cell).map(one -> report.byTurn(one, figure)).orElse(Map.of());
        addMedian(columns, ratios(ours, oneJvm), ReportTable::ratio);
        line(columns);
      }
    }
  }

  private static void addMedian(
      List<String> columns, Map<Integer, Double> values, DoubleFunction<String> format) {
    columns.add(median(values.values(), format));
    columns.add(range(values.values(), format));
  }

  /** Adds a table of processor time by kind of thread, of the cells that have it. */
  private void addThreads() {
    List<String> cells =
        report.measuredCells().stream()
            .filter(cell -> !report.byTurn(cell, Figure.WORKERS).isEmpty())
            .toList();
    if (cells.isEmpty()) {
      return;
    }
    line("## Threads");
    line("");
    line("Milliseconds of processor time for a round, steady, by kind of thread: medians.");
    line("");
    List<String> columns = new ArrayList<>(List.of("cell", "turns"));
    Figure.ofThreads().forEach(figure -> columns.add(figure.unit()));
    columns.add("all");
    head(columns);
    for (String cell : cells) {
      List<String> row = new ArrayList<>();
      row.add(cell);
      row.add(Integer.toString(report.byTurn(cell, Figure.WORKERS).size()));
      for (Figure figure : Figure.ofThreads()) {
        row.add(median(report.byTurn(cell, figure).values(), BenchmarkTable::number));
      }
      row.add(
          median(
              report.byTurn(cell, Figure.CPU_MILLIS_PER_ROUND).values(), BenchmarkTable::number));
      line(row);
    }
    line("");
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
        .filter(one -> one.figures().containsKey(Figure.COMPILER_SHARE))
        .forEach(
            one ->
                Phases.warning(one.figures().get(Figure.COMPILER_SHARE))
                    .ifPresent(
                        warning ->
                            line(
                                "- note: %s, turn %s: %s"
                                    .formatted(one.cell(), one.turn(), warning))));
    report.measurements().stream()
        .filter(one -> one.failure().isPresent())
        .forEach(
            one ->
                line(
                    "- failed: %s%s, turn %s: %s"
                        .formatted(
                            program(one.peer()),
                            one.cell(),
                            one.turn(),
                            one.failure().get().lines().findFirst().orElse(""))));
  }

  static String ratio(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  /** Returns the heading of a peer: with its version of PyTorch where several are compared. */
  static String peer(String version) {
    return version.isEmpty() ? "peer" : "PyTorch " + version;
  }

  /** Returns the words before the name of what was measured. */
  static String program(Optional<String> peer) {
    return peer.map(version -> peer(version) + " of ").orElse("");
  }

  private void head(List<String> columns) {
    line(columns);
    line(columns.stream().map(column -> "---").toList());
  }

  private void line(List<String> columns) {
    line("| " + String.join(" | ", columns) + " |");
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
