package io.vertigrad.benchmarks.marginal;

import io.vertigrad.benchmarks.process.ThreadKind;
import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.process.TrainCommandLine.Sampled;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Measures the milliseconds of a round of training, in elapsed and in processor time: of the first
 * rounds of a run, and of those when the compilers rest. Start and end of a run are in neither.
 */
public final class MarginalBenchmark implements Benchmark {

  private static final String UNIT = "ms/round";

  private final String only;
  private final int rounds;
  private final boolean threads;
  private final Command command;

  /** Trains a case. */
  @FunctionalInterface
  interface Command {

    /** Trains a case for this number of rounds. */
    Sampled train(MarginalCase one, int rounds) throws Exception;
  }

  /**
   * Measures the cases whose name contains a text.
   *
   * @param only such a text, for example {@code mlp, sync}
   * @param rounds half of the rounds of a run of the MLP
   * @param threads whether to print the processor time by kind of thread
   */
  public MarginalBenchmark(String only, int rounds, boolean threads) {
    this(
        only,
        rounds,
        threads,
        (one, steps) -> TrainCommandLine.sample(one.job(steps), one.processes()));
  }

  MarginalBenchmark(String only, int rounds, boolean threads, Command command) {
    this.only = only;
    this.rounds = rounds;
    this.threads = threads;
    this.command = command;
  }

  @Override
  public String name() {
    return "marginal";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<MarginalCase> cases = Cases.named(only, MarginalCase.all(), MarginalCase::toString);
    Map<MarginalCase, List<Phases>> measured = new LinkedHashMap<>();
    prepare(cases.get(0));
    for (int turn = 0; turn < (quick ? 1 : 3); turn++) {
      for (MarginalCase one : cases) {
        measured.computeIfAbsent(one, first -> new ArrayList<>()).add(measure(one));
      }
    }
    report(report, measured);
    if (threads) {
      report.printDetails();
    }
    report.remark(
        "wall: elapsed time; CPU: user and system time of all processes. Over the same in one JVM.");
  }

  /** Trains one round, so that no measured run includes what is built at the first start. */
  public void prepare(MarginalCase one) throws Exception {
    command.train(one, 1);
  }

  /** Measures a case once, with one run. */
  public Phases measure(MarginalCase one) throws Exception {
    int half = one.model().rounds(rounds);
    Sampled run = command.train(one, 2 * half);
    Phases phases = Phases.of(run.samples(), run.run().events(), half);
    System.err.printf(
        Locale.ROOT,
        "%s: first %.2f ms, CPU %.2f ms; from round %.0f %.2f ms, CPU %.2f ms%n",
        one,
        phases.first().wallMillis(),
        phases.first().cpuMillis(),
        phases.steadyFrom(),
        phases.steady().wallMillis(),
        phases.steady().cpuMillis());
    return phases;
  }

  private static void report(BenchmarkReport report, Map<MarginalCase, List<Phases>> measured) {
    Map<String, BenchmarkRow> limits = new HashMap<>();
    measured.forEach(
        (one, turns) -> {
          add(report, limits, one, ": first, wall", turns, all -> all.first().wallMillis());
          add(report, limits, one, ": first, CPU", turns, all -> all.first().cpuMillis());
          add(report, limits, one, ": steady, wall", turns, all -> all.steady().wallMillis());
          add(report, limits, one, ": steady, CPU", turns, all -> all.steady().cpuMillis());
          report.addDetail(row(one + ": steady from", "round", turns, Phases::steadyFrom));
          for (ThreadKind kind : ThreadKind.values()) {
            report.addDetail(
                row(
                    one + ": " + kind.label(),
                    UNIT,
                    turns,
                    all -> all.steady().threads().get(kind)));
          }
          turns.stream()
              .flatMap(all -> Phases.warning(all.compilerShare()).stream())
              .forEach(warning -> report.remark("%s: %s".formatted(one, warning)));
        });
  }

  private static void add(
      BenchmarkReport report,
      Map<String, BenchmarkRow> limits,
      MarginalCase one,
      String what,
      List<Phases> turns,
      ToDoubleFunction<Phases> millis) {
    BenchmarkRow row = row(one + what, UNIT, turns, millis);
    BenchmarkRow limit = limits.putIfAbsent(one.exchange() + what, row);
    report.add(limit == null ? row : row.over(limit));
  }

  private static BenchmarkRow row(
      String name, String unit, List<Phases> turns, ToDoubleFunction<Phases> value) {
    return BenchmarkRow.of(
        name, unit, new Repetitions(turns.stream().mapToDouble(value).toArray()));
  }
}
