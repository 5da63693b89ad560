package io.vertigrad.benchmarks.allreduce;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures the milliseconds of one sum over 2 and 4 workers, as a ratio over raw TCP in the same
 * run.
 */
public final class AllReduceBenchmark implements Benchmark {

  private static final int KIB = 1 << 10;
  private static final int MIB = 1 << 20;
  private static final List<Integer> BYTES =
      List.of(16 * KIB, 64 * KIB, 256 * KIB, MIB, 16 * MIB, 64 * MIB, 100 * MIB);
  private static final int QUICK_MOST = 16 * MIB;
  private static final int DIRECT_MOST = MIB;
  private static final int LEAST_ROUNDS = 15;
  private static final int MOST_ROUNDS = 500;

  private final String only;
  private int turns;

  /** Measures the cases whose name contains this text, such as {@code 1 MiB x 2}. */
  public AllReduceBenchmark(String only) {
    this.only = only;
  }

  @Override
  public String name() {
    return "allreduce";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<Case> chosen = Cases.named(only, cases(quick && only.isEmpty()), Case::name);
    try (AllReduceNodes nodes = new AllReduceNodes()) {
      for (Case one : chosen) {
        measure(report, nodes, one, quick);
      }
    }
    report.remark(
        "One sum of float32 vectors, the median round of rank 0; MB/s: the vector over that.");
    report.remark(
        "Warm: counted once no row got 5 % faster from three turns to the next three, or after 24.");
    report.remark(
        "Raw TCP: the ring's bytes, both ways at once, one spinning thread, nothing added up.");
  }

  private static List<Case> cases(boolean small) {
    return Stream.of(2, 4)
        .flatMap(workers -> BYTES.stream().map(bytes -> new Case(bytes, workers)))
        .filter(one -> !small || one.bytes() <= QUICK_MOST)
        .toList();
  }

  private void measure(BenchmarkReport report, AllReduceNodes nodes, Case one, boolean quick)
      throws Exception {
    int bytes = one.bytes();
    int workers = one.workers();
    String name = one.name() + ", ";
    boolean small = bytes <= DIRECT_MOST;
    Contest contest = new Contest();
    contest.enter("raw TCP", () -> nodes.raw(sum(false, workers, bytes, quick)));
    contest.enter("ring, processes", () -> nodes.processes(sum(false, workers, bytes, quick)));
    contest.enter(
        "ring, streams", () -> nodes.processes(sum(false, workers, bytes, quick).overStreams()));
    contest.enter("ring, embedded", () -> nodes.embedded(sum(false, workers, bytes, quick)));
    if (small) {
      contest.enter("direct, processes", () -> nodes.processes(sum(true, workers, bytes, quick)));
      contest.enter(
          "direct, streams", () -> nodes.processes(sum(true, workers, bytes, quick).overStreams()));
      contest.enter("direct, embedded", () -> nodes.embedded(sum(true, workers, bytes, quick)));
    }
    Map<String, Repetitions> measured = contest.runSettled(quick ? 3 : 7);
    BenchmarkRow raw = BenchmarkRow.of(name + "raw TCP", "ms", measured.get("raw TCP"));
    for (Map.Entry<String, Repetitions> entry : measured.entrySet()) {
      BenchmarkRow millis = BenchmarkRow.of(name + entry.getKey(), "ms", entry.getValue());
      report.add(entry.getKey().equals("raw TCP") ? raw : millis.over(raw));
      report.add(
          BenchmarkRow.of(name + entry.getKey(), "MB/s", bandwidth(bytes, entry.getValue())));
    }
  }

  private AllReduceCase sum(boolean direct, int workers, int bytes, boolean quick) {
    long perTurn = (quick ? 128L : 512L) * MIB;
    int rounds = (int) Math.max(LEAST_ROUNDS, Math.min(MOST_ROUNDS, perTurn / bytes / workers));
    String job = "allreduce-%d-%d-%d".formatted(bytes, workers, turns++);
    return new AllReduceCase(
        job, direct, bytes / Float.BYTES, workers, rounds, 2 + rounds / 4, "auto");
  }

  private static Repetitions bandwidth(int bytes, Repetitions millis) {
    double[] values = millis.values().clone();
    for (int i = 0; i < values.length; i++) {
      values[i] = bytes / 1e3 / values[i];
    }
    return new Repetitions(values);
  }

  private record Case(int bytes, int workers) {

    String name() {
      String size = bytes < MIB ? bytes / KIB + " KiB" : bytes / MIB + " MiB";
      return "%s x %d".formatted(size, workers);
    }
  }
}
