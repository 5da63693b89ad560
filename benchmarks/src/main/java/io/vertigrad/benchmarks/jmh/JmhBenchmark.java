package io.vertigrad.benchmarks.jmh;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs this package under JMH and reports GB/s of float32 payload over a plain array copy. */
public final class JmhBenchmark implements Benchmark {

  private static final String LIMIT = "arrayCopy";

  @Override
  public String name() {
    return "jmh";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    Collection<RunResult> results = new Runner(options(quick)).run();
    List<BenchmarkRow> rows = results.stream().map(JmhBenchmark::row).toList();
    BenchmarkRow limit =
        rows.stream().filter(row -> row.name().equals(LIMIT)).findFirst().orElseThrow();
    report.add(limit);
    rows.stream().filter(row -> row != limit).map(row -> row.over(limit)).forEach(report::add);
    report.remark(
        String.format(
            Locale.ROOT,
            "GB/s of one default partition (%,d float32), whatever the type on the wire; one thread.",
            FullFrame.ELEMENTS));
  }

  private static Options options(boolean quick) {
    return new OptionsBuilder()
        .include("\\Q" + JmhBenchmark.class.getPackageName() + "\\E.*")
        .forks(quick ? 1 : 3)
        .warmupIterations(quick ? 2 : 5)
        .warmupTime(TimeValue.milliseconds(quick ? 200 : 500))
        .measurementIterations(quick ? 3 : 5)
        .measurementTime(TimeValue.milliseconds(quick ? 200 : 500))
        .jvmArgs("-Xmx1g", "-Dlogback.configurationFile=logback-benchmarks.xml")
        .verbosity(VerboseMode.SILENT)
        .shouldFailOnError(true)
        .build();
  }

  private static BenchmarkRow row(RunResult result) {
    double[] gigabytesPerSecond =
        result.getBenchmarkResults().stream()
            .flatMap(fork -> fork.getIterationResults().stream())
            .mapToDouble(one -> one.getPrimaryResult().getScore())
            .map(framesPerSecond -> framesPerSecond * FullFrame.PAYLOAD_BYTES / 1e9)
            .toArray();
    String label = result.getPrimaryResult().getLabel();
    return BenchmarkRow.of(label, "GB/s", new Repetitions(gigabytesPerSecond));
  }
}
