package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.report.BenchmarkTable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
      List.of(
          "case",
          "workers",
          "turns",
          "speed-up",
          "range",
          "efficiency",
          "CPU",
          "range",
          "peer: speed-up",
          "range",
          "efficiency",
          "CPU",
          "range",
          "speed-up, ours / peer",
          "range",
          "CPU, ours / peer",
          "range");

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
      table.line(COLUMNS);
      table.line(COLUMNS.stream().map(column -> "---").toList());
      cases.forEach((name, cells) -> cells.keySet().forEach(n -> table.addRow(name, cells, n)));
      table.text.append('\n');
    }
    return table.text.toString();
  }

  private void addRow(String name, Map<Integer, String> cells, int workers) {
    String cell = cells.get(workers);
    String one = cells.getOrDefault(1, "");
    Gain ours = gain(cell, one, workers, false);
    Gain theirs =
        gain(report.peerOf(cell).orElse(""), report.peerOf(one).orElse(""), workers, true);
    Map<Integer, Double> speedUps = ReportTable.ratios(ours.speedUps(), theirs.speedUps());
    Map<Integer, Double> cpu = ReportTable.ratios(ours.cpuMillis(), theirs.cpuMillis());
    line(
        List.of(
            name,
            Integer.toString(workers),
            Integer.toString(ours.cpuMillis().size()),
            ratio(ours.speedUps()),
            ratioRange(ours.speedUps()),
            ratio(over(ours.speedUps(), workers)),
            ReportTable.median(ours.cpuMillis().values(), BenchmarkTable::number),
            ReportTable.range(ours.cpuMillis().values(), BenchmarkTable::number),
            ratio(theirs.speedUps()),
            ratioRange(theirs.speedUps()),
            ratio(over(theirs.speedUps(), workers)),
            ReportTable.median(theirs.cpuMillis().values(), BenchmarkTable::number),
            ReportTable.range(theirs.cpuMillis().values(), BenchmarkTable::number),
            ratio(speedUps),
            ratioRange(speedUps),
            ratio(cpu),
            ratioRange(cpu)));
  }

  private Gain gain(String cell, String one, int workers, boolean peer) {
    return new Gain(
        ReportTable.ratios(
            report.byTurn(cell, peer, Figure.SAMPLES_PER_SECOND),
            report.byTurn(one, peer, Figure.SAMPLES_PER_SECOND)),
        over(report.byTurn(cell, peer, Figure.CPU_MILLIS_PER_ROUND), workers));
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
