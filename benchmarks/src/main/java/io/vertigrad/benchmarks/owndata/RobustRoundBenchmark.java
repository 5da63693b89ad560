package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Measures the milliseconds of a round of ten workers with 2.5 million parameters through a
 * server's shard, one thread, for each reduction over the mean: check, reduction, step and answers
 * of all partitions. Rounds of all reductions take turns. And the milliseconds of a round of a job
 * of the same size, with the mean and with centred clipping.
 */
public final class RobustRoundBenchmark implements Benchmark {

  private static final int WARM_UP = 10;
  private static final int TURNS = 40;
  private static final int QUICK_TURNS = 8;
  private static final double CLIPPING_AIM = 1.3;
  private static final String MEAN = "mean";
  private static final String CLIPPING = "centredClipping";

  /** The name of rounds that include gradients and exchange. */
  private static final String WHOLE = "round of a job";

  /** Units of the hidden layer: 2,500,285 parameters with 784 inputs and ten classes. */
  private static final int HIDDEN = 3_145;

  private static final int BATCH = 8;

  private final UnaryOperator<String> properties;

  /**
   * Creates the benchmark.
   *
   * @param properties returns the value of a system property, or null
   */
  public RobustRoundBenchmark(UnaryOperator<String> properties) {
    this.properties = properties;
  }

  @Override
  public String name() {
    return "robust";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    OwnDataOptions options =
        OwnDataOptions.read(properties, quick ? QUICK_TURNS : TURNS, 1, quick ? 1 : 3);
    Map<String, JsonObject> all = strategies();
    List<String> names = new ArrayList<>(all.keySet());
    names.add(WHOLE);
    List<String> chosen = Cases.named(options.only(), names, Function.identity());
    if (!chosen.equals(List.of(WHOLE))) {
      shards(report, options, chosen);
    }
    if (chosen.contains(WHOLE)) {
      jobs(report, options);
    }
  }

  private static void shards(BenchmarkReport report, OwnDataOptions options, List<String> chosen) {
    Map<String, RobustRounds> rounds = new LinkedHashMap<>();
    strategies()
        .forEach(
            (name, strategy) -> {
              if (name.equals(MEAN) || chosen.contains(name)) {
                rounds.put(name, new RobustRounds(strategy, WARM_UP + options.rounds()));
              }
            });
    Map<String, List<Double>> millis = new TreeMap<>();
    for (int turn = 0; turn < WARM_UP + options.rounds(); turn++) {
      for (Map.Entry<String, RobustRounds> one : rounds.entrySet()) {
        double taken = one.getValue().millis();
        if (turn >= WARM_UP) {
          millis.computeIfAbsent(one.getKey(), first -> new ArrayList<>()).add(taken);
        }
      }
    }
    add(report, "", List.copyOf(rounds.keySet()), millis);
    report.remark(
        String.format(
            Locale.ROOT,
            "%d workers, %,d parameters in %d partitions of one shard, plain SGD, one thread;"
                + " %d rounds of each by turns after %d to warm up",
            RobustRounds.WORKERS,
            RobustRounds.PARAMETERS,
            RobustRounds.partitions(),
            options.rounds(),
            WARM_UP));
  }

  /** Measures rounds of a job, gradients and exchange included, as differences of run times. */
  private static void jobs(BenchmarkReport report, OwnDataOptions options) throws Exception {
    Map<String, List<Double>> millis = new TreeMap<>();
    List<String> names = List.of(MEAN, CLIPPING);
    int more = 2 * options.rounds();
    for (int turn = 0; turn < options.seeds(); turn++) {
      for (String name : names) {
        double few = JobRun.of(job(strategies().get(name), options.rounds())).seconds();
        double many = JobRun.of(job(strategies().get(name), options.rounds() + more)).seconds();
        millis.computeIfAbsent(name, first -> new ArrayList<>()).add(1e3 * (many - few) / more);
      }
    }
    add(report, WHOLE + ", ", names, millis);
    report.remark(
        String.format(
            Locale.ROOT,
            "%s: an MLP of 2.5 million parameters, ten workers with batches of %d and one server in"
                + " this JVM; run time of %d rounds less that of %d, over the difference",
            WHOLE,
            BATCH,
            options.rounds() + more,
            options.rounds()));
  }

  private static void add(
      BenchmarkReport report, String prefix, List<String> names, Map<String, List<Double>> millis) {
    BenchmarkRow mean = BenchmarkRow.of(prefix + MEAN, "ms", Repetitions.of(millis.get(MEAN)));
    report.add(mean);
    for (String name : names) {
      if (!name.equals(MEAN)) {
        BenchmarkRow row =
            BenchmarkRow.of(prefix + name, "ms", Repetitions.of(millis.get(name))).over(mean);
        report.add(name.equals(CLIPPING) ? row.withAim("at most " + CLIPPING_AIM) : row);
      }
    }
  }

  /** Returns the job file of a whole round's measurement. */
  static JsonObject job(JsonObject strategy, int rounds) {
    return new JsonObject()
        .put("job", "robust")
        .put("steps", rounds)
        .put("data", new JsonObject().put("name", "digits").put("train", 4_096).put("test", 100))
        .put("model", new JsonObject().put("name", "mlp").put("hidden", HIDDEN))
        .put("optimizer", new JsonObject().put("learningRate", 0.01))
        .put("strategy", strategy.copy())
        .put("workers", new JsonObject().put("count", RobustRounds.WORKERS).put("batch", BATCH))
        .put("evaluator", new JsonObject().put("every", rounds).put("samples", 100));
  }

  /** Returns the sections {@code strategy} by the names of their rows. */
  static Map<String, JsonObject> strategies() {
    Map<String, JsonObject> all = new LinkedHashMap<>();
    all.put(MEAN, robust(MEAN));
    all.put("sync", new JsonObject().put("name", "sync"));
    for (String reduction :
        List.of(
            "centredClipping", "median", "trimmedMean", "geometricMedian", "krum", "multiKrum")) {
      all.put(reduction, robust(reduction).put("liars", RobustRounds.LIARS));
    }
    all.put(
        "centredClipping, buckets of 2",
        robust("centredClipping").put("liars", RobustRounds.LIARS).put("bucket", 2));
    all.put(
        "median, nearest neighbours",
        robust("median").put("liars", RobustRounds.LIARS).put("neighbours", true));
    return all;
  }

  private static JsonObject robust(String reduction) {
    return new JsonObject().put("name", "robust").put("reduction", reduction);
  }
}
