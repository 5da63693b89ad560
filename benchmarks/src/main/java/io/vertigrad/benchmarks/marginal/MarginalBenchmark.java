package io.vertigrad.benchmarks.marginal;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * Measures the milliseconds of one more round of training, in elapsed and in processor time. It
 * divides the difference of a long and a short run by the difference of their rounds. The costs of
 * every run's start, warm-up and end therefore cancel out.
 */
public final class MarginalBenchmark implements Benchmark {

  private static final int MOST_SHORT_ROUNDS = 200;
  private static final double MILLIS = 1e3;

  private final String only;
  private final int rounds;
  private final Optional<Path> peer;
  private final Command command;

  /** Trains a case. */
  @FunctionalInterface
  interface Command {

    /** Trains a case for this number of rounds. */
    Spent train(MarginalCase one, int rounds) throws Exception;
  }

  /**
   * The time that a run took.
   *
   * @param seconds from the job's start to its last worker's end
   * @param cpuSeconds user and system time of all processes, their start included
   */
  public record Spent(double seconds, double cpuSeconds) {}

  /**
   * Measures the cases whose name contains a text.
   *
   * @param only such a text, for example {@code mlp, sync}
   * @param rounds number of rounds of the MLP by which the long run is longer
   * @param peer another program's figures, see {@link PeerFigures}
   */
  public MarginalBenchmark(String only, int rounds, Optional<Path> peer) {
    this(only, rounds, peer, MarginalBenchmark::train);
  }

  MarginalBenchmark(String only, int rounds, Optional<Path> peer, Command command) {
    this.only = only;
    this.rounds = rounds;
    this.peer = peer;
    this.command = command;
  }

  @Override
  public String name() {
    return "marginal";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    PeerFigures peers = peer.isPresent() ? PeerFigures.read(peer.get()) : PeerFigures.NONE;
    List<MarginalCase> cases = Cases.named(only, MarginalCase.all(), MarginalCase::toString);
    Map<MarginalCase, List<Spent>> spent = new LinkedHashMap<>();
    prepare(cases.get(0));
    for (int turn = 0; turn < (quick ? 1 : 3); turn++) {
      for (MarginalCase one : cases) {
        spent.computeIfAbsent(one, first -> new ArrayList<>()).add(ofOneRound(one));
      }
    }
    report(report, spent, peers);
    report.remark(
        "wall: elapsed time; CPU: user and system time of all processes. Over the peer where it has"
            + " a figure, else over one JVM.");
  }

  /** Trains one round, so that no measured run includes what is built at the first start. */
  public void prepare(MarginalCase one) throws Exception {
    command.train(one, 1);
  }

  /** Measures the time of one more round of a case, with a short and a long run. */
  public Spent ofOneRound(MarginalCase one) throws Exception {
    int more = one.model().rounds(rounds);
    int few = one.model().rounds(Math.min(MOST_SHORT_ROUNDS, rounds));
    Spent shorter = command.train(one, few);
    Spent longer = command.train(one, few + more);
    Spent round =
        new Spent(
            (longer.seconds() - shorter.seconds()) / more,
            (longer.cpuSeconds() - shorter.cpuSeconds()) / more);
    System.err.printf(
        Locale.ROOT,
        "%s: %.2f ms, CPU %.2f ms%n",
        one,
        round.seconds() * MILLIS,
        round.cpuSeconds() * MILLIS);
    return round;
  }

  private static void report(
      BenchmarkReport report, Map<MarginalCase, List<Spent>> spent, PeerFigures peers) {
    Map<String, BenchmarkRow> limits = new HashMap<>();
    for (String exchange :
        spent.keySet().stream().map(MarginalCase::exchange).distinct().toList()) {
      peers
          .of(exchange)
          .ifPresent(
              round -> {
                addPeer(report, limits, exchange, ": wall", round.wallMillis());
                addPeer(report, limits, exchange, ": CPU", round.cpuMillis());
              });
    }
    spent.forEach(
        (one, turns) -> {
          add(report, limits, one, ": wall", turns, Spent::seconds);
          add(report, limits, one, ": CPU", turns, Spent::cpuSeconds);
        });
  }

  private static void addPeer(
      BenchmarkReport report,
      Map<String, BenchmarkRow> limits,
      String exchange,
      String what,
      double millis) {
    BenchmarkRow row = row(exchange + ", peer" + what, List.of(millis));
    limits.put(exchange + what, row);
    report.add(row);
  }

  private static void add(
      BenchmarkReport report,
      Map<String, BenchmarkRow> limits,
      MarginalCase one,
      String what,
      List<Spent> turns,
      ToDoubleFunction<Spent> seconds) {
    BenchmarkRow row =
        row(one + what, turns.stream().map(t -> seconds.applyAsDouble(t) * MILLIS).toList());
    BenchmarkRow limit = limits.putIfAbsent(one.exchange() + what, row);
    report.add(limit == null ? row : row.over(limit));
  }

  private static BenchmarkRow row(String name, List<Double> millis) {
    return BenchmarkRow.of(name, "ms/round", Repetitions.of(millis));
  }

  private static Spent train(MarginalCase one, int rounds)
      throws IOException, InterruptedException {
    TrainCommandLine.Timed timed = TrainCommandLine.time(one.job(rounds), one.processes());
    return new Spent(timed.run().summary().getDouble("seconds"), timed.cpuSeconds());
  }
}
