package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.Cases;
import java.util.List;
import java.util.Locale;

/**
 * Measures the parameters per second through Vertigrad's exchange, as a ratio over raw TCP in the
 * same run.
 */
public final class ExchangeBenchmark implements Benchmark {

  private static final List<Integer> SIZES =
      List.of(2_000, 270_000, 407_050, 2_500_000, 25_000_000);

  private final String only;

  /**
   * The medians of one row.
   *
   * @param millionParametersPerSecond sent and received by all workers together
   * @param roundMillis one worker's round
   * @param cpuMillis processor time of all processes for a round of all workers
   */
  public record Measured(double millionParametersPerSecond, double roundMillis, double cpuMillis) {}

  /**
   * Measures the cases whose name contains this text, such as {@code 270,000 x 4}. Without a text,
   * a quick run leaves out the cases with more than two workers.
   */
  public ExchangeBenchmark(String only) {
    this.only = only;
  }

  @Override
  public String name() {
    return "exchange";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<Case> chosen = Cases.named(only, cases(quick && only.isEmpty()), Case::name);
    try (ExchangeNodes processes = ExchangeNodes.processes(ChildJvm.settledOptions("1g"));
        ExchangeNodes embedded = ExchangeNodes.embedded(ChildJvm.settledOptions("4g"))) {
      for (Case one : chosen) {
        new ExchangeContest(processes, embedded, one.parameters(), one.workers())
            .run(report, quick);
      }
    }
    report.remark(
        "M/s: million parameters sent and received per second by all workers together; round: one"
            + " worker's gradient out and parameters back.");
    report.remark("Raw TCP: blocking sockets, half duplex, the same bytes and the same barrier.");
    report.remark("CPU of a round: user and system time of all processes, for all workers.");
    report.remark(
        "With sums: out of a gradient and into a model, added and stepped in between; no checks.");
  }

  /**
   * Measures one row by itself, after it has settled.
   *
   * @param where the row's name: {@code raw TCP}, {@code raw TCP with sums}, {@code processes},
   *     {@code processes, streams} or {@code embedded}
   */
  public static Measured measure(
      String strategy, int parameters, int workers, String where, boolean quick) throws Exception {
    try (ExchangeNodes nodes =
        where.equals(ExchangeContest.EMBEDDED)
            ? ExchangeNodes.embedded(ChildJvm.settledOptions("4g"))
            : ExchangeNodes.processes(ChildJvm.settledOptions("1g"))) {
      return new ExchangeContest(nodes, nodes, parameters, workers).measure(strategy, where, quick);
    }
  }

  private static List<Case> cases(boolean few) {
    return (few ? List.of(1, 2) : List.of(1, 2, 4, 8))
        .stream()
            .flatMap(workers -> SIZES.stream().map(parameters -> new Case(parameters, workers)))
            .toList();
  }

  private record Case(int parameters, int workers) {

    String name() {
      return String.format(Locale.ROOT, "%,d x %d", parameters, workers);
    }
  }
}
