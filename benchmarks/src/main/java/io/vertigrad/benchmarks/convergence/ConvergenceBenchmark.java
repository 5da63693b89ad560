package io.vertigrad.benchmarks.convergence;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Measures accuracy and consensus against samples seen: every strategy on the same data, samples
 * and global batch, with all workers in one process.
 */
public final class ConvergenceBenchmark implements Benchmark {

  private static final List<String> STRATEGIES = List.of("sync", "async", "allreduce", "dpsgd");
  private static final double[] SHARES = {0.125, 0.25, 0.5, 1};
  private static final int ROUNDS = 800;
  private static final int QUICK_ROUNDS = 80;

  private final String folder;

  /**
   * Creates the benchmark.
   *
   * @param folder folder of the MNIST files; empty for generated digits
   */
  public ConvergenceBenchmark(String folder) {
    this.folder = folder;
  }

  @Override
  public String name() {
    return "convergence";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    int rounds = quick ? QUICK_ROUNDS : ROUNDS;
    for (int workers : quick ? new int[] {2, 4} : new int[] {2, 4, 8}) {
      for (String strategy : STRATEGIES) {
        add(report, new ConvergenceCase(strategy, workers, rounds, folder), quick ? 1 : 3);
      }
    }
    report.remark(
        String.format(
                Locale.ROOT,
                "%,d samples in rounds of %d shared by the workers; an asynchronous run takes as many steps",
                rounds * ConvergenceCase.BATCH,
                ConvergenceCase.BATCH)
            + " as workers in each, at a rate divided by them. ConvNet, SGD 0.1; one repetition for"
            + " each seed from 0 on.");
    report.remark("Consensus: sqrt(sum_i |x_i - mean|^2 / N), 0 where there is one model.");
  }

  private static void add(BenchmarkReport report, ConvergenceCase one, int seeds) throws Exception {
    List<Curve> curves = new ArrayList<>();
    for (int seed = 0; seed < seeds; seed++) {
      TrainCommandLine.Trained run = TrainCommandLine.train(one.job(seed), false);
      curves.add(Curve.of(run.events(), run.summary().getLong("version")));
    }
    for (double share : SHARES) {
      long samples = Math.round(share * one.rounds() * ConvergenceCase.BATCH);
      String when = String.format(Locale.ROOT, "%s, %,d samples, ", one, samples);
      report.add(
          BenchmarkRow.of(
              when + "accuracy",
              "%",
              Repetitions.of(curves.stream().map(curve -> curve.accuracyAt(share)).toList())));
      if (one.strategy().equals("dpsgd")) {
        report.add(
            BenchmarkRow.of(
                when + "consensus",
                "distance",
                Repetitions.of(curves.stream().map(curve -> curve.consensusAt(share)).toList())));
      }
    }
  }
}
