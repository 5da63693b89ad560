package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Contest;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
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
  private static final String RAW = "raw TCP";
  private static final String PROCESSES = "processes";
  private static final String STREAMS = "processes, streams";
  static final String EMBEDDED = "embedded";
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
      for (String where : List.of(RAW, RAW_SUMS, PROCESSES, STREAMS, EMBEDDED)) {
        enter(contest, strategy, where, quick);
      }
    }
    enter(contest, ASYNC, BARE_BUS, quick);
    int repetitions = quick ? 3 : 7;
    Map<String, Repetitions> measured = contest.runSettledRates(repetitions);
    dropWarmUp(repetitions);
    for (String strategy : List.of("sync", ASYNC)) {
      BenchmarkRow raw = row(measured, name(strategy, RAW));
      report.add(raw);
      report.add(row(measured, name(strategy, RAW_SUMS)).over(raw));
      BenchmarkRow across = row(measured, name(strategy, PROCESSES)).over(raw);
      report.add(4L * parameters >= 1 << 20 ? across.withAim("ratio 0.4") : across);
      report.add(row(measured, name(strategy, STREAMS)).over(raw));
      report.add(row(measured, name(strategy, EMBEDDED)).over(raw));
      if (strategy.equals(ASYNC)) {
        report.add(row(measured, name(ASYNC, BARE_BUS)).over(raw));
      }
      BenchmarkRow rawCpu = cpu(name(strategy, RAW_SUMS));
      report.add(rawCpu);
      report.add(cpu(name(strategy, PROCESSES)).over(rawCpu));
      report.add(cpu(name(strategy, STREAMS)).over(rawCpu));
      report.add(cpu(name(strategy, EMBEDDED)).over(rawCpu));
      if (parameters <= SMALL) {
        addRoundTrips(report, name(strategy, RAW), "");
        addRoundTrips(report, name(strategy, PROCESSES), "0.4 ms");
        addRoundTrips(report, name(strategy, STREAMS), "");
        addRoundTrips(report, name(strategy, EMBEDDED), "0.1 ms");
      }
    }
  }

  /** Measures one row by itself, after it has settled. */
  ExchangeBenchmark.Measured measure(String strategy, String where, boolean quick)
      throws Exception {
    Contest contest = new Contest();
    enter(contest, strategy, where, quick);
    int repetitions = quick ? 3 : 7;
    String name = name(strategy, where);
    double rate = contest.runSettledRates(repetitions).get(name).median();
    dropWarmUp(repetitions);
    return new ExchangeBenchmark.Measured(
        rate, millis(name).median(), Repetitions.of(cpuMillis.get(name)).median());
  }

  private void enter(Contest contest, String strategy, String where, boolean quick) {
    String name = name(strategy, where);
    ExchangeNodes nodes = where.equals(EMBEDDED) ? embedded : processes;
    Place place = place(nodes, where);
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

  private static Place place(ExchangeNodes nodes, String where) {
    return switch (where) {
      case RAW -> nodes::raw;
      case RAW_SUMS -> nodes::rawSums;
      case STREAMS -> one -> nodes.bus(one.overStreams());
      case BARE_BUS -> nodes::bare;
      default -> nodes::bus;
    };
  }

  private void dropWarmUp(int repetitions) {
    Stream.concat(roundMillis.values().stream(), cpuMillis.values().stream())
        .forEach(ofTurns -> ofTurns.subList(0, ofTurns.size() - repetitions).clear());
  }

  private ExchangeCase exchange(String strategy, String where, boolean quick) {
    long perTurn = quick ? PARAMETERS_PER_TURN / 3 : PARAMETERS_PER_TURN;
    int rounds = (int) Math.max(2, Math.min(MOST_ROUNDS, perTurn / parameters / workers));
    String job = "%s-%s-%s-%s-%s".formatted(strategy, where, parameters, workers, turns);
    return new ExchangeCase(job, strategy, parameters, workers, rounds, Math.max(1, rounds / 4));
  }

  private void addRoundTrips(BenchmarkReport report, String name, String aim) {
    Repetitions millis = millis(name);
    report.add(BenchmarkRow.of(name + ", round p50", "ms", millis).withAim(aim));
    report.add(
        BenchmarkRow.of(
            name + ", round p99", "ms", new Repetitions(new double[] {millis.percentile(99)})));
  }

  /** Returns the rounds of all workers. */
  private Repetitions millis(String name) {
    return new Repetitions(
        roundMillis.get(name).stream()
            .flatMap(List::stream)
            .flatMapToDouble(one -> Arrays.stream(one.millis()))
            .toArray());
  }

  /** Returns the processor time of all processes together for one round of all workers. */
  private BenchmarkRow cpu(String name) {
    return BenchmarkRow.of(name + ", CPU of a round", "ms", Repetitions.of(cpuMillis.get(name)));
  }

  private String name(String strategy, String where) {
    return String.format(Locale.ROOT, "%s %,d x %d, %s", strategy, parameters, workers, where);
  }

  private static BenchmarkRow row(Map<String, Repetitions> measured, String name) {
    return BenchmarkRow.of(name, "M/s", measured.get(name));
  }
}
