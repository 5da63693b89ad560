package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.UnaryOperator;

/**
 * Compares rounds that wait for everyone with {@code fedbuff}, which does not: eight workers with
 * unlike data, two of which take five times as long for a sample. Workers wait for their samples
 * rather than compute, so that eight of them do not compete for the processor.
 */
public final class BufferedBenchmark implements Benchmark {

  private static final int WORKERS = 8;
  private static final int SLOW = 2;
  private static final int MILLIS = 1;
  private static final int SLOWER = 5;
  private static final int BATCH = 16;
  private static final int LOCAL_STEPS = 10;
  private static final int BUFFER = 4;
  private static final int ROUNDS = 80;
  private static final int QUICK_ROUNDS = 20;
  private static final double ALPHA = 0.5;

  /** Share of the synchronous rounds' final accuracy that both have to reach. */
  private static final double SHARE = 0.97;

  private static final double AIM = 0.6;

  private final UnaryOperator<String> properties;

  /**
   * Creates the benchmark.
   *
   * @param properties returns the value of a system property, or null
   */
  public BufferedBenchmark(UnaryOperator<String> properties) {
    this.properties = properties;
  }

  @Override
  public String name() {
    return "fedbuff";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    OwnDataOptions options =
        OwnDataOptions.read(properties, quick ? QUICK_ROUNDS : ROUNDS, 1, quick ? 1 : 3);
    List<Double> waiting = new ArrayList<>();
    List<Double> buffered = new ArrayList<>();
    List<Double> finals = new ArrayList<>();
    List<Double> bufferedFinals = new ArrayList<>();
    for (int i = 0; i < options.seeds(); i++) {
      int seed = options.seed() + i;
      JobRun rounds = run(report, options, "fedavg", seed);
      JobRun buffer = run(report, options, "fedbuff", seed);
      double least = SHARE * rounds.accuracy();
      OptionalDouble first = rounds.secondsTo(least);
      OptionalDouble second = buffer.secondsTo(least);
      if (first.isEmpty() || second.isEmpty()) {
        report.fail(
            String.format(
                Locale.ROOT,
                "seed %d: no test reached %.2f %%: with rounds %s, without %s",
                seed,
                least,
                rounds.curve(),
                buffer.curve()));
        continue;
      }
      waiting.add(first.getAsDouble());
      buffered.add(second.getAsDouble());
      finals.add(rounds.accuracy());
      bufferedFinals.add(buffer.accuracy());
    }
    if (waiting.isEmpty()) {
      return;
    }
    String to = String.format(Locale.ROOT, "to %.0f %% of the rounds' final accuracy", 100 * SHARE);
    BenchmarkRow limit = BenchmarkRow.of("rounds, " + to, "s", Repetitions.of(waiting));
    report.add(limit);
    report.add(
        BenchmarkRow.of("fedbuff, " + to, "s", Repetitions.of(buffered))
            .over(limit)
            .withAim("at most " + AIM));
    report.add(BenchmarkRow.of("rounds, final accuracy", "%", Repetitions.of(finals)));
    report.add(BenchmarkRow.of("fedbuff, final accuracy", "%", Repetitions.of(bufferedFinals)));
    report.remark(
        String.format(
            Locale.ROOT,
            "generated digits, Dirichlet %.1f, %d workers, %d of them slow: %d and %d ms a sample;"
                + " MLP of 64 hidden units, batch %d, %d local steps, buffer of %d, %d rounds; the"
                + " account of updates balances in every run, or the run is reported as failed",
            ALPHA,
            WORKERS,
            SLOW,
            MILLIS,
            MILLIS * SLOWER,
            BATCH,
            LOCAL_STEPS,
            BUFFER,
            options.rounds()));
  }

  private static JobRun run(BenchmarkReport report, OwnDataOptions options, String rule, int seed)
      throws Exception {
    JobRun run =
        JobRun.of(
            job(options, rule, seed, MILLIS),
            started ->
                JobRun.withoutTests(
                    job(options, rule, seed, started < WORKERS - SLOW ? MILLIS : MILLIS * SLOWER)));
    run.ledgerProblems().forEach(problem -> report.fail(rule + ", seed " + seed + ": " + problem));
    System.err.printf(
        Locale.ROOT,
        "  %s, seed %d: %.2f %% in %.0f s; on the way %s%n",
        rule,
        seed,
        run.accuracy(),
        run.seconds(),
        run.curve());
    return run;
  }

  /** Returns the job file of a member that needs so many milliseconds for a sample. */
  static JsonObject job(OwnDataOptions options, String rule, int seed, int millis) {
    JsonObject strategy =
        new JsonObject().put("name", "federated").put("rule", rule).put("localSteps", LOCAL_STEPS);
    if (rule.equals("fedbuff")) {
      strategy.put("buffer", BUFFER);
    }
    return new JsonObject()
        .put("job", "fedbuff")
        .put("seed", seed)
        .put("steps", options.rounds() * LOCAL_STEPS)
        .put(
            "data",
            new JsonObject()
                .put("name", "paced")
                .put("of", "digits")
                .put("millis", millis)
                .put("until", "no-such-file"))
        .put("model", new JsonObject().put("name", "mlp").put("hidden", 64))
        .put("optimizer", new JsonObject().put("learningRate", 0.05))
        .put("strategy", strategy)
        .put(
            "workers",
            new JsonObject()
                .put("count", WORKERS)
                .put("batch", BATCH)
                .put("partition", new JsonObject().put("kind", "dirichlet").put("alpha", ALPHA)))
        .put("evaluator", new JsonObject().put("every", 1).put("samples", 2_000));
  }
}
