package io.vertigrad.benchmarks.sweep;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.sweep.SearchSpace;
import io.vertigrad.sweep.Sweep;
import io.vertigrad.sweep.Sweep.Standing;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares a sweep of 27 trials over two processes that stops poor trials early with the same sweep
 * that trains all to their end: training samples, processor time, and what each finds best.
 */
public final class SweepBenchmark implements Benchmark {

  private static final String PREFIX = "vertigrad.benchmarks.";
  private static final long LIMIT_MINUTES = 60;
  private static final String MAIN = "io.vertigrad.launcher.VertigradApplication";

  private final String data;
  private final int seeds;

  /** What one sweep used and found. */
  private record Outcome(double samples, double seconds, List<Standing> ranking) {

    int best() {
      return ranking.get(0).task().trial().number();
    }

    double accuracy(int trial) {
      return ranking.stream()
          .filter(one -> one.task().trial().number() == trial)
          .mapToDouble(one -> one.result().accuracy())
          .findFirst()
          .orElseThrow();
    }
  }

  /**
   * Creates the benchmark.
   *
   * @param property returns a system property by its name; null when it is not set
   */
  public SweepBenchmark(UnaryOperator<String> property) {
    String folder = property.apply(PREFIX + "data");
    data = folder == null ? "" : folder;
    String count = property.apply(PREFIX + "seeds");
    seeds = count == null ? 3 : Integer.parseInt(count);
  }

  @Override
  public String name() {
    return "sweep";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<Outcome> grids = new ArrayList<>();
    List<Outcome> sweeps = new ArrayList<>();
    for (int seed = 1; seed <= (quick ? 1 : seeds); seed++) {
      Outcome grid = sweep(seed, quick, "--full");
      Outcome sweep = sweep(seed, quick);
      grids.add(grid);
      sweeps.add(sweep);
      Standing found = sweep.ranking().get(0);
      report.remark(
          String.format(
              Locale.ROOT,
              "Seed %d: the grid's best is %s with %.2f %%. The sweep's best, %s, has %.2f %% there"
                  + " and %.2f %% in the sweep.",
              seed,
              SearchSpace.text(grid.ranking().get(0).task().trial().settings()),
              grid.accuracy(grid.best()),
              SearchSpace.text(found.task().trial().settings()),
              grid.accuracy(sweep.best()),
              found.result().accuracy()));
    }
    compare(report, "training samples", "samples", grids, sweeps, Outcome::samples);
    compare(report, "processor time", "s", grids, sweeps, Outcome::seconds);
    report.remark(
        data.isEmpty() ? "Generated digits, not MNIST." : "MNIST, " + steps(quick) + " steps.");
  }

  private static void compare(
      BenchmarkReport report,
      String what,
      String unit,
      List<Outcome> grids,
      List<Outcome> sweeps,
      ToDoubleFunction<Outcome> figure) {
    BenchmarkRow grid =
        BenchmarkRow.of("all trials to their end, " + what, unit, measured(grids, figure));
    report.add(grid);
    report.add(
        BenchmarkRow.of("sweep, " + what, unit, measured(sweeps, figure))
            .over(grid)
            .withAim("at most 0.33"));
  }

  private static Repetitions measured(List<Outcome> outcomes, ToDoubleFunction<Outcome> figure) {
    return Repetitions.of(outcomes.stream().mapToDouble(figure).boxed().toList());
  }

  private int steps(boolean quick) {
    return quick ? 60 : data.isEmpty() ? 600 : 300;
  }

  private Outcome sweep(int seed, boolean quick, String... more)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-sweep-");
    try {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      command.addAll(List.of("-Xmx1g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=0", "-cp"));
      command.add(classPath());
      command.addAll(List.of(MAIN, "sweep"));
      command.add(data.isEmpty() ? "conf/digits-sync.json" : "conf/mnist-sync.json");
      command.addAll(List.of("--name", "s", "--parallel", "2", "--set", "seed=" + seed));
      command.addAll(List.of("--set", "steps=" + steps(quick)));
      command.addAll(List.of("--set", "optimizer.learningRate=0.001..0.3/9"));
      command.addAll(List.of("--set", "workers.batch=32,64,128"));
      if (!data.isEmpty()) {
        command.addAll(List.of("--data", data));
      }
      command.addAll(List.of(more));
      Path output = folder.resolve("output");
      Process process =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
      if (!ended || process.exitValue() != 0) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        throw new IOException(
            "the sweep %s: %s"
                .formatted(
                    ended ? "ended with code " + process.exitValue() : "took over an hour",
                    Files.readString(output)));
      }
      try (Sweep read = Sweep.resume(folder.resolve("runs").resolve("s"))) {
        List<Standing> ranking = read.ranking();
        return new Outcome(
            ranking.stream().mapToDouble(one -> one.result().samples()).sum(),
            ranking.stream().mapToDouble(one -> one.result().processorSeconds()).sum(),
            ranking);
      }
    } finally {
      TrainCommandLine.delete(folder);
    }
  }

  /** Returns this JVM's class path; the sweep has another working directory. */
  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }
}
