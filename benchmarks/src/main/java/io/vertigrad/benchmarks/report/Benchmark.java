package io.vertigrad.benchmarks.report;

/** One benchmark of {@code benchmarks/run}. */
public interface Benchmark {

  /** Returns the benchmark's name on the command line and of its result file. */
  String name();

  /**
   * Measures and reports.
   *
   * @param quick whether to take about a tenth of the time, for a trial run whose figures must not
   *     be quoted
   * @throws Exception if anything could not be measured; the message says what
   */
  void run(BenchmarkReport report, boolean quick) throws Exception;
}
