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
 * of all partitions. Rounds of all reductions take turns.
 */
public final class RobustRoundBenchmark implements Benchmark {

  private static final int WARM_UP = 10;
  private static final int TURNS = 40;
  private static final int QUICK_TURNS = 8;
  private static final double CLIPPING_AIM = 1.3;
  private static final String MEAN = "mean";

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
    OwnDataOptions options = OwnDataOptions.read(properties, quick ? QUICK_TURNS : TURNS, 1, 1);
    Map<String, JsonObject> all = strategies();
    List<String> chosen =
        Cases.named(options.only(), List.copyOf(all.keySet()), Function.identity());
    Map<String, RobustRounds> rounds = new LinkedHashMap<>();
    for (Map.Entry<String, JsonObject> one : all.entrySet()) {
      if (one.getKey().equals(MEAN) || chosen.contains(one.getKey())) {
        rounds.put(one.getKey(), new RobustRounds(one.getValue(), WARM_UP + options.rounds()));
      }
    }
    Map<String, List<Double>> millis = new TreeMap<>();
    for (int turn = 0; turn < WARM_UP + options.rounds(); turn++) {
      for (Map.Entry<String, RobustRounds> one : rounds.entrySet()) {
        double taken = one.getValue().millis();
        if (turn >= WARM_UP) {
          millis.computeIfAbsent(one.getKey(), first -> new ArrayList<>()).add(taken);
        }
      }
    }
    BenchmarkRow mean = BenchmarkRow.of(MEAN, "ms", Repetitions.of(millis.get(MEAN)));
    report.add(mean);
    for (String name : rounds.keySet()) {
      if (!name.equals(MEAN)) {
        BenchmarkRow row = BenchmarkRow.of(name, "ms", Repetitions.of(millis.get(name))).over(mean);
        report.add(name.equals("centredClipping") ? row.withAim("at most " + CLIPPING_AIM) : row);
      }
    }
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
