package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures one size and number of workers: synchronous and asynchronous, in every placement and
 * over raw TCP.
 */
final class ExchangeContest {

  private static final long PARAMETERS_PER_TURN = 150_000_000;
  private static final int MOST_ROUNDS = 2_000;
  private static final int SMALL = 10_000;
  private static final String ASYNC = "async";
  private static final String STREAMS = "processes, streams";
  private static final String BARE_BUS = "bare bus";
  private static final String RAW_SUMS = "raw TCP with sums";

  private final ExchangeNodes processes;
  private final ExchangeNodes embedded;
  private final int parameters;
  private final int workers;
  private final Map<String, List<List<RoundTimes>>> roundMillis = new LinkedHashMap<>();
  private final Map<String, List<Double>> cpuMillis = new LinkedHashMap<>();
  private int turns;

  ExchangeContest(ExchangeNodes processes, ExchangeNodes embedded, int parameters, int workers) {
    this.processes = processes;
    this.embedded = embedded;
    this.parameters = parameters;
    this.workers = workers;
  }

  /** Runs the rounds in one placement. */
  @FunctionalInterface
  private interface Place {
    List<RoundTimes> run(ExchangeCase exchange) throws Exception;
  }

  void run(BenchmarkReport report, boolean quick) throws Exception {
    Contest contest = new Contest();
    for (String strategy : List.of("sync", ASYNC)) {
      enter(contest, strategy, "raw TCP", quick, processes, processes::raw);
      enter(contest, strategy, RAW_SUMS, quick, processes, processes::rawSums);
      enter(contest, strategy, "processes", quick, processes, processes::bus);
      enter(contest, strategy, STREAMS, quick, processes, one -> processes.bus(one.overStreams()));
      enter(contest, strategy, "embedded", quick, embedded, embedded::bus);
    }
    enter(contest, ASYNC, BARE_BUS, quick, processes, processes::bare);
    int repetitions = quick ? 3 : 7;
    Map<String, Repetitions> measured = contest.runSettledRates(repetitions);
    Stream.concat(roundMillis.values().stream(), cpuMillis.values().stream())
        .forEach(ofTurns -> ofTurns.subList(0, ofTurns.size() - repetitions).clear());
    for (String strategy : List.of("sync", ASYNC)) {
      BenchmarkRow raw = row(measured, name(strategy, "raw TCP"));
      report.add(raw);
      report.add(row(measured, name(strategy, RAW_SUMS)).over(raw));
      BenchmarkRow across = row(measured, name(strategy, "processes")).over(raw);
      report.add(4L * parameters >= 1 << 20 ? across.withAim("ratio 0.4") : across);
      report.add(row(measured, name(strategy, STREAMS)).over(raw));
      report.add(row(measured, name(strategy, "embedded")).over(raw));
      if (strategy.equals(ASYNC)) {
        report.add(row(measured, name(ASYNC, BARE_BUS)).over(raw));
      }
      BenchmarkRow rawCpu = cpu(name(strategy, RAW_SUMS));
      report.add(rawCpu);
      report.add(cpu(name(strategy, "processes")).over(rawCpu));
      report.add(cpu(name(strategy, STREAMS)).over(rawCpu));
      report.add(cpu(name(strategy, "embedded")).over(rawCpu));
      if (parameters <= SMALL) {
        addRoundTrips(report, name(strategy, "raw TCP"), "");
        addRoundTrips(report, name(strategy, "processes"), "0.4 ms");
        addRoundTrips(report, name(strategy, STREAMS), "");
        addRoundTrips(report, name(strategy, "embedded"), "0.1 ms");
      }
    }
  }

  private void enter(
      Contest contest,
      String strategy,
      String where,
      boolean quick,
      ExchangeNodes nodes,
      Place place) {
    String name = name(strategy, where);
    contest.enter(
        name,
        () -> {
          ExchangeCase exchange = exchange(strategy, where.replaceAll("[ ,]+", "-"), quick);
          turns++;
          long before = nodes.cpuNanos();
          List<RoundTimes> times = place.run(exchange);
          int rounds = exchange.rounds() + exchange.warmRounds();
          cpuMillis
              .computeIfAbsent(name, one -> new ArrayList<>())
              .add((nodes.cpuNanos() - before) / 1e6 / rounds);
          roundMillis.computeIfAbsent(name, one -> new ArrayList<>()).add(times);
          return RoundTimes.roundsPerSecond(times) * parameters / 1e6;
        });
  }

  private ExchangeCase exchange(String strategy, String where, boolean quick) {
    long perTurn = quick ? PARAMETERS_PER_TURN / 3 : PARAMETERS_PER_TURN;
    int rounds = (int) Math.max(2, Math.min(MOST_ROUNDS, perTurn / parameters / workers));
    String job = "%s-%s-%d-%d-%d".formatted(strategy, where, parameters, workers, turns);
    return new ExchangeCase(job, strategy, parameters, workers, rounds, Math.max(1, rounds / 4));
  }

  private void addRoundTrips(BenchmarkReport report, String name, String aim) {
    Repetitions millis =
        new Repetitions(
            roundMillis.get(name).stream()
                .flatMap(List::stream)
                .flatMapToDouble(one -> Arrays.stream(one.millis()))
                .toArray());
    report.add(BenchmarkRow.of(name + ", round p50", "ms", millis).withAim(aim));
    report.add(
        BenchmarkRow.of(
            name + ", round p99", "ms", new Repetitions(new double[] {millis.percentile(99)})));
  }

  /** Returns the processor time of all processes together for one round of all workers. */
  private BenchmarkRow cpu(String name) {
    return BenchmarkRow.of(name + ", CPU of a round", "ms", Repetitions.of(cpuMillis.get(name)));
  }

  private String name(String strategy, String where) {
    return "%s %,d x %d, %s".formatted(strategy, parameters, workers, where);
  }

  private static BenchmarkRow row(Map<String, Repetitions> measured, String name) {
    return BenchmarkRow.of(name, "M/s", measured.get(name));
  }
}
