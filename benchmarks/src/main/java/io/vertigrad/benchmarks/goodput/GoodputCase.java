package io.vertigrad.benchmarks.goodput;

import io.vertigrad.testkit.chaos.ChaosPlan;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A job whose workers fail.
 *
 * @param name the name on the command line
 * @param strategy section of the job file
 * @param workers number of workers, each in its own process
 * @param batch samples of a worker's batch
 * @param hidden width of the MLP's hidden layer
 * @param paceMillis least time of a gradient, during which the processor idles; 0 for a gradient
 *     that the processor computes
 * @param stepsPerSecond most steps of a worker in a second, without faults
 * @param isRepeatable whether every run ends in the same parameters
 * @param aim share of the undisturbed throughput to reach; 0 for no aim
 */
record GoodputCase(
    String name,
    JsonObject strategy,
    int workers,
    int batch,
    int hidden,
    int paceMillis,
    int stepsPerSecond,
    boolean isRepeatable,
    double aim) {

  /** A synchronisation does not wait for so many workers. */
  private static final int MISSING = 2;

  private static final int PACE_MILLIS = 100;
  private static final double ROUNDS_AIM = 0.98;
  private static final double QUORUM_AIM = 0.98;
  private static final double DILOCO_AIM = 0.90;

  /** Suspicion comes after this share of the time to eviction. */
  private static final double SUSPECT = 0.35;

  /** Spare workers wait for a place until the end. */
  private static final int WAIT_SECONDS = 3_600;

  /**
   * Returns all cases.
   *
   * @param workers number of workers where the processor idles
   */
  static List<GoodputCase> all(int workers) {
    String quorum =
        "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 20, \"quorum\": %s}"
            .formatted(workers - MISSING);
    return List.of(
        paced("sync", "{\"name\": \"sync\"}", workers, true, ROUNDS_AIM),
        paced("allreduce", "{\"name\": \"allreduce\"}", workers, true, ROUNDS_AIM),
        paced("diloco-quorum", quorum, workers, false, QUORUM_AIM),
        paced("diloco", "{\"name\": \"diloco\", \"syncEvery\": 20}", workers, true, DILOCO_AIM),
        new GoodputCase(
            "sync-computing",
            new JsonObject("{\"name\": \"sync\"}"),
            2,
            64,
            1_024,
            0,
            50,
            true,
            0));
  }

  private static GoodputCase paced(
      String name, String strategy, int workers, boolean isRepeatable, double aim) {
    return new GoodputCase(
        name,
        new JsonObject(strategy),
        workers,
        16,
        64,
        PACE_MILLIS,
        1_000 / PACE_MILLIS,
        isRepeatable,
        aim);
  }

  /** Returns the job as a plan of testkit. */
  ChaosPlan plan(GoodputOptions options) {
    boolean servers = name.startsWith("sync") || strategy.getBoolean("servers", false);
    String file = servers ? "sync" : "ring";
    JsonObject changes =
        new JsonObject()
            .put("engine", PacedEngine.NAME)
            .put("timeline", true)
            .put("strategy", strategy)
            .put("model", new JsonObject().put("name", "mlp").put("hidden", hidden))
            // Every batch of every worker is full.
            .put("data", new JsonObject().put("name", "digits").put("train", 4_096))
            .put(
                "workers",
                new JsonObject()
                    .put("count", workers)
                    .put("batch", batch)
                    .put("waitSeconds", WAIT_SECONDS))
            .put(
                "exchange",
                new JsonObject()
                    .put("suspectMillis", (int) (SUSPECT * options.evictMillis()))
                    .put("evictMillis", options.evictMillis()));
    return new ChaosPlan(
        name,
        "digits-" + file + ".json",
        "mnist-" + file + ".json",
        changes,
        IntStream.range(0, workers).mapToObj(rank -> "worker " + rank).toList(),
        stepsPerSecond,
        isRepeatable);
  }
}
