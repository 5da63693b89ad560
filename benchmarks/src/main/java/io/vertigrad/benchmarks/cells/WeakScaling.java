package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.report.BenchmarkTable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The cells in which each worker keeps its batch, and the table of what more workers gain. */
final class WeakScaling {

  private static final Pattern NAME = Pattern.compile("weak scaling, (.+), (\\d+) workers?, (.+)");

  private static final String EXPLANATION =
      "Each worker keeps its batch. Speed-up: samples/s over those of one worker in the same turn."
          + " Efficiency: speed-up over workers. CPU: milliseconds of all processes for a round,"
          + " over workers.";

  private static final List<String> COLUMNS =
      List.of("case", "workers", "turns", "speed-up", "range", "efficiency", "CPU", "range");

  private static final Figure SPEED = Figure.SAMPLES_PER_SECOND;

  private final ReportFile report;
  private final StringBuilder text = new StringBuilder();

  /**
   * What some workers gain over one, by turn.
   *
   * @param speedUps ratios of samples per second
   * @param cpuMillis processor time of a round of one of the workers
   */
  private record Gain(Map<Integer, Double> speedUps, Map<Integer, Double> cpuMillis) {}

  private WeakScaling(ReportFile report) {
    this.report = report;
  }

  /** Returns the name of a cell. */
  static String name(Object model, String strategy, int workers, String place) {
    return "weak scaling, %s, %s, %s %s, %s"
        .formatted(model, strategy, workers, workers == 1 ? "worker" : "workers", place);
  }

  /** Returns the table of a report as Markdown; empty when it has no such cells. */
  static String table(ReportFile report) {
    Map<String, Map<Integer, String>> cases = new LinkedHashMap<>();
    for (String cell : report.measuredCells()) {
      Matcher name = NAME.matcher(cell);
      if (name.matches()) {
        cases
            .computeIfAbsent(name.group(1) + ", " + name.group(3), one -> new TreeMap<>())
            .put(Integer.parseInt(name.group(2)), cell);
      }
    }
    WeakScaling table = new WeakScaling(report);
    if (!cases.isEmpty()) {
      table.text.append("## Weak scaling\n\n").append(EXPLANATION).append("\n\n");
      List<String> columns = new ArrayList<>(COLUMNS);
      for (String version : report.versions()) {
        String peer = ReportTable.peer(version);
        columns.addAll(List.of(peer + ": speed-up", "range", "efficiency", "CPU", "range"));
        columns.addAll(List.of("speed-up, ours / " + peer, "range"));
        columns.addAll(List.of("CPU, ours / " + peer, "range"));
      }
      table.line(columns);
      table.line(columns.stream().map(column -> "---").toList());
      cases.forEach((name, cells) -> cells.keySet().forEach(n -> table.addRow(name, cells, n)));
      table.text.append('\n');
    }
    return table.text.toString();
  }

  private void addRow(String name, Map<Integer, String> cells, int workers) {
    String cell = cells.get(workers);
    String one = cells.getOrDefault(1, "");
    Gain ours = gain(workers, figure -> report.byTurn(cell, figure), report.byTurn(one, SPEED));
    List<String> columns =
        new ArrayList<>(
            List.of(name, Integer.toString(workers), Integer.toString(ours.cpuMillis().size())));
    addGain(columns, ours, workers);
    for (String version : report.versions()) {
      Gain theirs =
          gain(
              workers,
              figure -> report.ofPeer(cell, version, figure),
              report.ofPeer(one, version, SPEED));
      addGain(columns, theirs, workers);
      Map<Integer, Double> speedUps = ReportTable.ratios(ours.speedUps(), theirs.speedUps());
      Map<Integer, Double> cpu = ReportTable.ratios(ours.cpuMillis(), theirs.cpuMillis());
      columns.addAll(List.of(ratio(speedUps), ratioRange(speedUps), ratio(cpu), ratioRange(cpu)));
    }
    line(columns);
  }

  private static void addGain(List<String> columns, Gain gain, int workers) {
    columns.addAll(
        List.of(
            ratio(gain.speedUps()),
            ratioRange(gain.speedUps()),
            ratio(over(gain.speedUps(), workers)),
            ReportTable.median(gain.cpuMillis().values(), BenchmarkTable::number),
            ReportTable.range(gain.cpuMillis().values(), BenchmarkTable::number)));
  }

  private static Gain gain(
      int workers, Function<Figure, Map<Integer, Double>> byTurn, Map<Integer, Double> speedOfOne) {
    return new Gain(
        ReportTable.ratios(byTurn.apply(SPEED), speedOfOne),
        over(byTurn.apply(Figure.CPU_MILLIS_PER_ROUND), workers));
  }

  private static Map<Integer, Double> over(Map<Integer, Double> values, int workers) {
    Map<Integer, Double> shares = new TreeMap<>();
    values.forEach((turn, value) -> shares.put(turn, value / workers));
    return shares;
  }

  private static String ratio(Map<Integer, Double> values) {
    return ReportTable.median(values.values(), ReportTable::ratio);
  }

  private static String ratioRange(Map<Integer, Double> values) {
    return ReportTable.range(values.values(), ReportTable::ratio);
  }

  private void line(List<String> columns) {
    text.append("| ").append(String.join(" | ", columns)).append(" |\n");
  }
}
