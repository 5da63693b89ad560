package io.vertigrad.benchmarks.straggler;

import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.BatchesDivided;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.observability.EventFold;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Trains an MLP on digits with four workers, of which one takes three times as long for a sample,
 * with {@code workers.balance} {@code equal} and {@code speed}: samples a second, and the test loss
 * after every so many steps, for several seeds.
 */
final class BalancedRuns {

  private static final int WORKERS = 4;
  private static final int TOTAL_BATCH = 64;
  private static final int MILLIS = 4;
  private static final int SLOWER = 3;
  private static final int TEST_EVERY = 50;

  /** Batches are divided by speed before this step. */
  private static final int RATE_FROM = 100;

  private static final long LIMIT_SECONDS = 600;

  private final int steps;
  private final int seeds;
  private final Map<String, List<Double>> rows = new TreeMap<>();
  private final Map<String, String> units = new HashMap<>();

  BalancedRuns(boolean quick) {
    steps = quick ? 150 : 300;
    seeds = quick ? 1 : 3;
  }

  void report(BenchmarkReport report) throws Exception {
    List<String> divisions = new ArrayList<>();
    for (int seed = 1; seed <= seeds; seed++) {
      for (String strategy : List.of("sync", "allreduce")) {
        for (String balance : List.of("equal", "speed")) {
          Run run = new Run(strategy, balance, seed);
          run.train();
          String name = strategy + ", " + balance;
          add(name + ", samples/s from step " + RATE_FROM, "samples/s", run.rate());
          add(name + ", whole run", "samples/s", run.wholeRate());
          run.losses.forEach(
              (version, loss) ->
                  add("%s, test loss after %3s steps".formatted(name, version), "loss", loss));
          run.divisions.forEach(one -> divisions.add(name + ", seed " + run.seed + ": " + one));
        }
      }
    }
    rows.keySet().forEach(name -> report.add(row(name)));
    report.remark(
        "batch %s in total, %s ms a sample, %s for the slow worker, %s seeds; %s; repeat with: benchmarks/run straggler --only balance"
            .formatted(TOTAL_BATCH, MILLIS, MILLIS * SLOWER, seeds, String.join("; ", divisions)));
  }

  /** Returns a row; rates with batches by speed are compared with those of equal batches. */
  private BenchmarkRow row(String name) {
    BenchmarkRow row = BenchmarkRow.of(name, units.get(name), Repetitions.of(rows.get(name)));
    return name.contains(", speed, ") && units.get(name).startsWith("samples")
        ? row.over(row(name.replace(", speed, ", ", equal, "))).withAim("at least 1.6")
        : row;
  }

  private void add(String name, String unit, double value) {
    units.put(name, unit);
    rows.computeIfAbsent(name, first -> new ArrayList<>()).add(value);
  }

  /** One run, and what its events say. */
  private final class Run {

    private final String strategy;
    private final String balance;
    private final int seed;
    private final SortedMap<Long, Double> losses = new TreeMap<>();
    private final List<String> divisions = new ArrayList<>();
    private final EventFold fold =
        new EventFold()
            .on(WorkerProgress.class, this::progressed)
            .on(BatchesDivided.class, this::divided)
            .on(Evaluated.class, this::tested);

    private long begunNanos;
    private long fromNanos;
    private long fromSamples;
    private long endNanos;

    Run(String strategy, String balance, int seed) {
      this.strategy = strategy;
      this.balance = balance;
      this.seed = seed;
    }

    void train() throws Exception {
      Vertx vertx = Vertx.vertx();
      try {
        vertx
            .eventBus()
            .<JsonObject>consumer(
                "vertigrad.balance.events", m -> onEvent(TrainingEvent.fromJson(m.body())));
        CoordinatorVerticle coordinator = new CoordinatorVerticle();
        StragglerBenchmark.deploy(vertx, coordinator, job(MILLIS));
        if (strategy.equals("sync")) {
          StragglerBenchmark.deploy(vertx, new ParameterServerVerticle(), job(MILLIS));
        }
        StragglerBenchmark.deploy(vertx, new EvaluatorVerticle(), job(MILLIS));
        for (int rank = 0; rank < WORKERS; rank++) {
          int millis = rank == WORKERS - 1 ? MILLIS * SLOWER : MILLIS;
          StragglerBenchmark.deploy(vertx, new WorkerVerticle(), job(millis));
        }
        JsonObject result =
            coordinator
                .result()
                .toCompletionStage()
                .toCompletableFuture()
                .get(LIMIT_SECONDS, TimeUnit.SECONDS);
        losses.put((long) steps, result.getJsonObject("evaluation").getDouble("loss"));
        StragglerBenchmark.await(coordinator.stop("measured"));
      } finally {
        StragglerBenchmark.await(vertx.close());
      }
    }

    private synchronized void onEvent(TrainingEvent event) {
      fold.apply(event);
    }

    private void progressed(WorkerProgress progress) {
      if (progress.samples() == 0) {
        return;
      }
      long now = System.nanoTime();
      begunNanos = begunNanos == 0 ? now : begunNanos;
      if (fromNanos == 0 && progress.version() >= RATE_FROM) {
        fromNanos = now;
        fromSamples = progress.version() * TOTAL_BATCH;
      }
      if (endNanos == 0 && progress.version() >= steps) {
        endNanos = now;
      }
    }

    private void divided(BatchesDivided divided) {
      divisions.add("from step %s %s".formatted(divided.version(), divided.shares()));
    }

    private void tested(Evaluated test) {
      if (test.version() > 0) {
        losses.putIfAbsent(test.version(), test.loss());
      }
    }

    synchronized double rate() {
      long trained = (long) steps * TOTAL_BATCH - fromSamples;
      return trained / ((endNanos - fromNanos) / 1e9);
    }

    synchronized double wholeRate() {
      return (double) steps * TOTAL_BATCH / ((endNanos - begunNanos) / 1e9);
    }

    private JsonObject job(int millis) {
      return new JsonObject()
          .put("job", "balance")
          .put("seed", seed)
          .put("steps", steps)
          .put("model", new JsonObject().put("name", "mlp").put("hidden", 32))
          .put("optimizer", new JsonObject().put("learningRate", 0.1))
          .put(
              "data",
              new JsonObject()
                  .put("name", "paced")
                  .put("of", "digits")
                  .put("millis", millis)
                  .put("until", "no-such-file"))
          .put("strategy", new JsonObject().put("name", strategy))
          .put(
              "evaluator",
              new JsonObject().put("every", TEST_EVERY).put("blocking", true).put("samples", 2_000))
          .put(
              "workers",
              new JsonObject()
                  .put("count", WORKERS)
                  .put("totalBatch", TOTAL_BATCH)
                  .put("balance", balance));
    }
  }
}
