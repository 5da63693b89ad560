package io.vertigrad.benchmarks;

import io.vertigrad.benchmarks.allreduce.AllReduceBenchmark;
import io.vertigrad.benchmarks.cells.ReportCommand;
import io.vertigrad.benchmarks.chaos.ChaosBenchmark;
import io.vertigrad.benchmarks.compute.ComputeBenchmark;
import io.vertigrad.benchmarks.convergence.ConvergenceBenchmark;
import io.vertigrad.benchmarks.diloco.DiLoCoTrajectory;
import io.vertigrad.benchmarks.exchange.ExchangeBenchmark;
import io.vertigrad.benchmarks.exchange.MemoryBenchmark;
import io.vertigrad.benchmarks.goodput.GoodputBenchmark;
import io.vertigrad.benchmarks.jmh.JmhBenchmark;
import io.vertigrad.benchmarks.marginal.MarginalBenchmark;
import io.vertigrad.benchmarks.overlap.OverlapBenchmark;
import io.vertigrad.benchmarks.owndata.BufferedBenchmark;
import io.vertigrad.benchmarks.owndata.FederatedBenchmark;
import io.vertigrad.benchmarks.owndata.LiarsBenchmark;
import io.vertigrad.benchmarks.owndata.RobustRoundBenchmark;
import io.vertigrad.benchmarks.pipeline.PipelineBenchmark;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.UnknownCaseException;
import io.vertigrad.benchmarks.runlist.RunsBenchmark;
import io.vertigrad.benchmarks.scale.ScaleBenchmark;
import io.vertigrad.benchmarks.scaling.ScalingBenchmark;
import io.vertigrad.benchmarks.serving.ServingBenchmark;
import io.vertigrad.benchmarks.slowlink.SlowLinkBenchmark;
import io.vertigrad.benchmarks.straggler.StragglerBenchmark;
import io.vertigrad.benchmarks.sweep.SweepBenchmark;
import io.vertigrad.benchmarks.watching.WatchingBenchmark;
import io.vertigrad.compute.settings.SettingsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs the benchmarks named on the command line, prints their tables and writes their JSON. */
final class BenchmarkMain {

  private static final String DATA = "vertigrad.benchmarks.data";
  private static final String ONLY = System.getProperty("vertigrad.benchmarks.only", "");
  private static final List<Benchmark> BENCHMARKS =
      List.of(
          new ComputeBenchmark(),
          new ScalingBenchmark(),
          new MarginalBenchmark(
              ONLY,
              Integer.getInteger("vertigrad.benchmarks.rounds", 5_000),
              Boolean.getBoolean("vertigrad.benchmarks.threads")),
          new OverlapBenchmark(ONLY),
          new PipelineBenchmark(),
          new ExchangeBenchmark(ONLY),
          new AllReduceBenchmark(ONLY),
          new MemoryBenchmark(),
          new WatchingBenchmark(),
          new ServingBenchmark(ONLY),
          new JmhBenchmark(),
          new ScaleBenchmark(),
          new ConvergenceBenchmark(System.getProperty(DATA, "")),
          new ChaosBenchmark(System.getProperty(DATA, "")),
          new GoodputBenchmark(),
          new SlowLinkBenchmark(ONLY, System.getProperty(DATA, "")),
          new StragglerBenchmark(ONLY),
          new RunsBenchmark(),
          new FederatedBenchmark(System::getProperty),
          new LiarsBenchmark(System::getProperty),
          new BufferedBenchmark(System::getProperty),
          new RobustRoundBenchmark(System::getProperty),
          new SweepBenchmark(System::getProperty));

  private BenchmarkMain() {}

  /**
   * Runs the benchmarks named in the arguments, or every benchmark for {@code all} or no name.
   * {@code --quick} shortens them. Exits with 1 when a benchmark reports a failure. {@code report}
   * measures the cells of all of them instead, {@code diloco-trajectory} prints numbers to compare.
   */
  public static void main(String[] arguments) throws Exception {
    List<String> names = new ArrayList<>(List.of(arguments));
    boolean quick = names.remove("--quick");
    Path directory = Path.of(System.getProperty("vertigrad.benchmarks.out", "benchmarks/target"));
    if (names.contains(ReportCommand.NAME)) {
      System.exit(report(names, quick, directory));
    }
    if (names.contains(DiLoCoTrajectory.NAME)) {
      System.exit(trajectory(names));
    }
    boolean failed = false;
    for (Benchmark benchmark : chosen(names)) {
      BenchmarkReport report = new BenchmarkReport(benchmark.name(), quick);
      try {
        benchmark.run(report, quick);
      } catch (UnknownCaseException e) {
        System.err.println("benchmarks/run: " + benchmark.name() + ": " + e.getMessage());
        System.exit(2);
      }
      report.print(System.out);
      System.out.println("written to " + report.write(directory));
      failed |= !report.failures().isEmpty();
    }
    System.exit(failed ? 1 : 0);
  }

  private static int report(List<String> names, boolean quick, Path directory) throws Exception {
    if (names.size() > 1) {
      System.err.printf("benchmarks/run: found %s, expected report alone%n", names);
      return 2;
    }
    try {
      return ReportCommand.run(System::getProperty, quick, directory);
    } catch (IllegalArgumentException e) {
      System.err.println("benchmarks/run: report: " + e.getMessage());
      return 2;
    }
  }

  private static int trajectory(List<String> names) {
    if (names.size() > 1) {
      System.err.printf("benchmarks/run: found %s, expected diloco-trajectory alone%n", names);
      return 2;
    }
    try {
      System.out.println(DiLoCoTrajectory.of(System::getProperty).toJson().encodePrettily());
      return 0;
    } catch (IllegalArgumentException | SettingsException e) {
      System.err.println("benchmarks/run: " + e.getMessage());
      return 2;
    }
  }

  private static List<Benchmark> chosen(List<String> names) {
    if (names.isEmpty() || names.contains("all")) {
      return BENCHMARKS;
    }
    List<String> known = BENCHMARKS.stream().map(Benchmark::name).toList();
    for (String name : names) {
      if (!known.contains(name)) {
        System.err.printf(
            "benchmarks/run: found '%s', expected one of %s, all, report, diloco-trajectory, --quick%n",
            name, String.join(", ", known));
        System.exit(2);
      }
    }
    return BENCHMARKS.stream().filter(one -> names.contains(one.name())).toList();
  }
}
