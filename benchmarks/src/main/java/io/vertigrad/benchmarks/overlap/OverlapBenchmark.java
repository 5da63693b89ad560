package io.vertigrad.benchmarks.overlap;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.process.TrainCommandLine.Trained;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;

/**
 * Measures how much of a worker's wait for a slow link {@code exchange.overlap} hides behind the
 * backward pass, and whether the parameters stay identical.
 */
public final class OverlapBenchmark implements Benchmark {

  private static final int WARM_STEPS = 10;

  private final String only;

  /** Measures the cases whose name contains a text, such as {@code sync, 100 Mbit/s}. */
  public OverlapBenchmark(String only) {
    this.only = only;
  }

  /** The times and the result of one run. */
  private record Run(StepTimes times, String parametersHash) {}

  /** The same training without overlap and with it, one after the other. */
  private record Turn(Run without, Run with) {

    double hiddenPercent() {
      return 100 * (1 - with.times().exchangeMillis() / without.times().exchangeMillis());
    }

    /** Returns the share that can be hidden when only the backward pass hides it. */
    double mostPercent(double backward) {
      double millis = backward * without.times().computeMillis();
      return Math.min(100, 100 * millis / without.times().exchangeMillis());
    }
  }

  @Override
  public String name() {
    return "overlap";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<OverlapCase> cases = Cases.named(only, OverlapCase.all(), OverlapCase::toString);
    int steps = WARM_STEPS + (quick ? 20 : 60);
    double backward = BackwardShare.measure();
    Map<OverlapCase, List<Turn>> turns = new LinkedHashMap<>();
    for (int turn = 0; turn < (quick ? 1 : 3); turn++) {
      for (OverlapCase one : cases) {
        Turn measured = new Turn(train(one, steps, false), train(one, steps, true));
        turns.computeIfAbsent(one, first -> new ArrayList<>()).add(measured);
        System.err.printf(
            Locale.ROOT,
            "%s: waits %.1f ms, with overlap %.1f ms%n",
            one,
            measured.without().times().waitMillis(),
            measured.with().times().waitMillis());
        if (!measured.with().parametersHash().equals(measured.without().parametersHash())) {
          report.fail(
              "%s: parameters %s with overlap, expected %s as without"
                  .formatted(
                      one, measured.with().parametersHash(), measured.without().parametersHash()));
        }
      }
    }
    turns.forEach((one, all) -> add(report, one, all, backward));
    report.remark(
        "Medians of a step over steps and both workers, then over turns. Waiting: from the end of a"
            + " worker's gradient to the begin of its next, the wait for the other worker's gradient"
            + " included; exchange after the gradients: without that.");
    report.remark(
        String.format(
            Locale.ROOT,
            "Hidden: of the exchange after the gradients what is not there with overlap. No more than"
                + " the time from the first layer's final gradient to the last's can be, %.0f %% of"
                + " a gradient.",
            100 * backward));
  }

  private static Run train(OverlapCase one, int steps, boolean overlap) throws Exception {
    Trained trained =
        TrainCommandLine.train(
            one.job(steps, overlap), true, LinkLimit.commandPrefix(one.megabits()));
    return new Run(
        StepTimes.of(trained.timeline(), WARM_STEPS),
        Objects.requireNonNull(trained.summary().getString("parametersHash"), "parametersHash"));
  }

  private static void add(
      BenchmarkReport report, OverlapCase one, List<Turn> turns, double backward) {
    BenchmarkRow without =
        row(one + ": step without overlap", "ms", turns, t -> t.without().times().millis());
    report.add(row(one + ": gradient", "ms", turns, t -> t.without().times().computeMillis()));
    report.add(without);
    report.add(
        row(one + ": step with overlap", "ms", turns, t -> t.with().times().millis())
            .over(without));
    report.add(
        row(one + ": waiting without overlap", "ms", turns, t -> t.without().times().waitMillis()));
    report.add(
        row(one + ": waiting with overlap", "ms", turns, t -> t.with().times().waitMillis()));
    BenchmarkRow exchange =
        row(
            one + ": exchange after the gradients, without overlap",
            "ms",
            turns,
            t -> t.without().times().exchangeMillis());
    report.add(exchange);
    report.add(
        row(
                one + ": exchange after the gradients, with overlap",
                "ms",
                turns,
                t -> t.with().times().exchangeMillis())
            .over(exchange));
    report.add(row(one + ": hidden", "%", turns, Turn::hiddenPercent).withAim("80"));
    report.add(row(one + ": could be hidden", "%", turns, turn -> turn.mostPercent(backward)));
  }

  private static BenchmarkRow row(
      String name, String unit, List<Turn> turns, ToDoubleFunction<Turn> figure) {
    return BenchmarkRow.of(
        name, unit, Repetitions.of(turns.stream().map(figure::applyAsDouble).toList()));
  }
}
