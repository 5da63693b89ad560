package io.vertigrad.benchmarks.report;

/** One of the questions that {@code benchmarks/run} answers. */
public interface Benchmark {

  /** Its name on the command line and of its file of results. */
  String name();

  /**
   * Measures and reports.
   *
   * @param quick a tenth of the time, for trying it out; not for quoting
   * @throws Exception if anything could not be measured; the message says what
   */
  void run(BenchmarkReport report, boolean quick) throws Exception;
}
