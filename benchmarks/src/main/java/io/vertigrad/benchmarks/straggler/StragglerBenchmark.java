package io.vertigrad.benchmarks.straggler;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Compares the throughput of three equally fast workers when a fourth one takes ten times as long
 * for each sample with that of the three alone; and, case {@code balance}, of four workers of which
 * one is three times as slow, with equal batches and with batches by speed. The workers wait for
 * their samples and compute almost nothing, so four of them do not compete for the processor.
 */
public final class StragglerBenchmark implements Benchmark {

  private static final List<String> CASES = List.of("quorum", "balance");
  private static final int FAST = 3;
  private static final long LIMIT_SECONDS = 60;

  private final String only;

  /** Creates the benchmark of the cases whose name contains a text. */
  public StragglerBenchmark(String only) {
    this.only = only;
  }

  @Override
  public String name() {
    return "straggler";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<String> cases = Cases.named(only, CASES, Function.identity());
    if (cases.contains("quorum")) {
      quorum(report, quick);
    }
    if (cases.contains("balance")) {
      new BalancedRuns(quick).report(report);
    }
  }

  private static void quorum(BenchmarkReport report, boolean quick) throws Exception {
    Map<String, List<Double>> rates = new TreeMap<>();
    for (int turn = 0; turn < (quick ? 1 : 2); turn++) {
      for (int quorum : new int[] {FAST, 0}) {
        String name = quorum == 0 ? "no quorum" : "quorum " + quorum;
        double alone = samplesPerSecond(quorum, false, quick);
        double beside = samplesPerSecond(quorum, true, quick);
        add(rates, name + ", three workers", alone);
        add(rates, name + ", beside a slow one", beside);
        add(rates, name + ", beside over alone", beside / alone);
      }
    }
    rates.forEach(
        (name, values) ->
            report.add(
                BenchmarkRow.of(
                    name,
                    name.endsWith("alone") ? "of alone" : "samples/s of the three",
                    Repetitions.of(values))));
    report.remark(
        "diloco with a server, 25 steps of 4 samples for each synchronisation, %s ms a sample, %s for the slow worker; repeat with: benchmarks/run straggler%s"
            .formatted(
                PacedPoints.MILLIS,
                PacedPoints.MILLIS * PacedPoints.SLOWER,
                quick ? " --quick" : ""));
  }

  private static void add(Map<String, List<Double>> rates, String name, double value) {
    rates.computeIfAbsent(name, first -> new ArrayList<>()).add(value);
  }

  /** Returns the samples that the three fastest workers train together in a second. */
  private static double samplesPerSecond(int quorum, boolean slow, boolean quick) throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      Map<Integer, Long> samples = new ConcurrentHashMap<>();
      vertx
          .eventBus()
          .<JsonObject>consumer(
              "vertigrad.straggler.events",
              message -> {
                JsonObject event = message.body();
                if (event.getString("type").equals("workerProgress")) {
                  samples.put(event.getInteger("rank"), event.getLong("samples"));
                }
              });
      int workers = slow ? FAST + 1 : FAST;
      deploy(vertx, new CoordinatorVerticle(), job(quorum, workers, "fast"));
      deploy(vertx, new ParameterServerVerticle(), job(quorum, workers, "fast"));
      for (int i = 0; i < workers; i++) {
        String folder = i == FAST ? PacedPoints.SLOW : "fast";
        deploy(vertx, new WorkerVerticle(), job(quorum, workers, folder));
      }
      TimeUnit.SECONDS.sleep(quick ? 4 : 5);
      long before = fastest(samples);
      long begun = System.nanoTime();
      TimeUnit.SECONDS.sleep(quick ? 4 : 10);
      return (fastest(samples) - before) / ((System.nanoTime() - begun) / 1e9);
    } finally {
      await(vertx.close());
    }
  }

  private static long fastest(Map<Integer, Long> samples) {
    return samples.values().stream()
        .sorted(Comparator.reverseOrder())
        .limit(FAST)
        .mapToLong(Long::longValue)
        .sum();
  }

  private static JsonObject job(int quorum, int workers, String folder) {
    return new JsonObject()
        .put("job", "straggler")
        .put("engine", "quadratic")
        .put("steps", 100_000_000)
        .put(
            "data",
            new JsonObject().put("name", PacedPoints.class.getName()).put("directory", folder))
        .put(
            "strategy",
            new JsonObject()
                .put("name", "diloco")
                .put("servers", true)
                .put("syncEvery", 25)
                .put("quorum", quorum))
        .put("evaluator", new JsonObject().put("count", 0))
        .put("workers", new JsonObject().put("count", workers).put("batch", 4));
  }

  static void deploy(Vertx vertx, Deployable verticle, JsonObject job) throws Exception {
    await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(job)));
  }

  static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
