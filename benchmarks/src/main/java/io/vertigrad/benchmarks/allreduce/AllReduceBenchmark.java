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

  private static final String RAW_TCP = "raw TCP";
  private static final String DIRECT = "direct";
  private static final String PROCESSES = "processes";
  private static final String STREAMS = "streams";
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

  /**
   * Measures one row by itself, after it has settled.
   *
   * @param bytes size of the vector
   * @param row its name: {@code raw TCP}, or {@code ring} or {@code direct}, a comma, and {@code
   *     processes}, {@code streams} or {@code embedded}
   * @return milliseconds of one sum
   */
  public static double millis(int bytes, int workers, String row, boolean quick) throws Exception {
    try (AllReduceNodes nodes = new AllReduceNodes()) {
      Contest contest = new Contest();
      new AllReduceBenchmark("").enter(contest, nodes, new Case(bytes, workers), row, quick);
      return contest.runSettled(quick ? 3 : 7).get(row).median();
    }
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
    String name = one.name() + ", ";
    boolean small = bytes <= DIRECT_MOST;
    Contest contest = new Contest();
    enter(contest, nodes, one, RAW_TCP, quick);
    for (String order : small ? List.of("ring", DIRECT) : List.of("ring")) {
      for (String place : List.of(PROCESSES, STREAMS, "embedded")) {
        enter(contest, nodes, one, order + ", " + place, quick);
      }
    }
    Map<String, Repetitions> measured = contest.runSettled(quick ? 3 : 7);
    BenchmarkRow raw = BenchmarkRow.of(name + RAW_TCP, "ms", measured.get(RAW_TCP));
    for (Map.Entry<String, Repetitions> entry : measured.entrySet()) {
      BenchmarkRow millis = BenchmarkRow.of(name + entry.getKey(), "ms", entry.getValue());
      report.add(entry.getKey().equals(RAW_TCP) ? raw : millis.over(raw));
      report.add(
          BenchmarkRow.of(name + entry.getKey(), "MB/s", bandwidth(bytes, entry.getValue())));
    }
  }

  private void enter(Contest contest, AllReduceNodes nodes, Case one, String row, boolean quick) {
    boolean direct = row.startsWith(DIRECT);
    contest.enter(
        row,
        () -> {
          AllReduceCase sum = sum(direct, one.workers(), one.bytes(), quick);
          return switch (row.substring(row.indexOf(',') + 1).strip()) {
            case RAW_TCP -> nodes.raw(sum);
            case PROCESSES -> nodes.processes(sum);
            case STREAMS -> nodes.processes(sum.overStreams());
            default -> nodes.embedded(sum);
          };
        });
  }

  private AllReduceCase sum(boolean direct, int workers, int bytes, boolean quick) {
    long perTurn = (quick ? 128L : 512L) * MIB;
    int rounds = (int) Math.max(LEAST_ROUNDS, Math.min(MOST_ROUNDS, perTurn / bytes / workers));
    String job = "allreduce-%s-%s-%s".formatted(bytes, workers, turns++);
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
      return "%s x %s".formatted(size, workers);
    }
  }
}
