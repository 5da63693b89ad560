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

/** One size and number of workers: synchronous and asynchronous, everywhere and over raw TCP. */
final class ExchangeContest {

  private static final long PARAMETERS_PER_TURN = 150_000_000;
  private static final int MOST_ROUNDS = 2_000;
  private static final int SMALL = 10_000;
  private static final String ASYNC = "async";
  private static final String BARE_BUS = "bare bus";
  private static final String RAW_SUMS = "raw TCP with sums";

  private final ExchangeNodes processes;
  private final ExchangeNodes embedded;
  private final int parameters;
  private final int workers;
  private final Map<String, List<List<RoundTimes>>> roundMillis = new LinkedHashMap<>();
  private int turns;

  ExchangeContest(ExchangeNodes processes, ExchangeNodes embedded, int parameters, int workers) {
    this.processes = processes;
    this.embedded = embedded;
    this.parameters = parameters;
    this.workers = workers;
  }

  /** Somewhere the rounds can be run. */
  @FunctionalInterface
  private interface Place {
    List<RoundTimes> run(ExchangeCase exchange) throws Exception;
  }

  void run(BenchmarkReport report, boolean quick) throws Exception {
    Contest contest = new Contest();
    for (String strategy : List.of("sync", ASYNC)) {
      enter(contest, strategy, "raw TCP", quick, processes::raw);
      enter(contest, strategy, RAW_SUMS, quick, processes::rawSums);
      enter(contest, strategy, "processes", quick, processes::bus);
      enter(contest, strategy, "embedded", quick, embedded::bus);
    }
    enter(contest, ASYNC, BARE_BUS, quick, processes::bare);
    int repetitions = quick ? 3 : 7;
    Map<String, Repetitions> measured = contest.runSettledRates(repetitions);
    roundMillis
        .values()
        .forEach(ofTurns -> ofTurns.subList(0, ofTurns.size() - repetitions).clear());
    for (String strategy : List.of("sync", ASYNC)) {
      BenchmarkRow raw = row(measured, name(strategy, "raw TCP"));
      report.add(raw);
      report.add(row(measured, name(strategy, RAW_SUMS)).over(raw));
      BenchmarkRow across = row(measured, name(strategy, "processes")).over(raw);
      report.add(4L * parameters >= 1 << 20 ? across.withAim("ratio 0.4") : across);
      report.add(row(measured, name(strategy, "embedded")).over(raw));
      if (strategy.equals(ASYNC)) {
        report.add(row(measured, name(ASYNC, BARE_BUS)).over(raw));
      }
      if (parameters <= SMALL) {
        addRoundTrips(report, name(strategy, "raw TCP"), "");
        addRoundTrips(report, name(strategy, "processes"), "0.4 ms");
        addRoundTrips(report, name(strategy, "embedded"), "0.1 ms");
      }
    }
  }

  private void enter(Contest contest, String strategy, String where, boolean quick, Place place) {
    String name = name(strategy, where);
    contest.enter(
        name,
        () -> {
          ExchangeCase exchange = exchange(strategy, where.replace(' ', '-'), quick);
          turns++;
          List<RoundTimes> times = place.run(exchange);
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

  private String name(String strategy, String where) {
    return "%s %,d x %d, %s".formatted(strategy, parameters, workers, where);
  }

  private static BenchmarkRow row(Map<String, Repetitions> measured, String name) {
    return BenchmarkRow.of(name, "M/s", measured.get(name));
  }
}
