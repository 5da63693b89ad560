package io.vertigrad.benchmarks.owndata;

import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * A cell of the published table of unlike data: ten workers, batch 64, SGD 0.01 with momentum 0.9
 * and decay 1e-5.
 *
 * @param rule value of {@code strategy.rule}
 * @param data the partition, in words
 * @param partition section {@code workers.partition}
 * @param published accuracy in percent that Flower's baseline {@code niid_bench} reports for it,
 *     with 50 rounds of 10 local epochs
 */
record FederatedCase(String rule, String data, JsonObject partition, double published) {

  static final int WORKERS = 10;

  private static final int BATCH = 64;
  private static final double RATE = 0.01;
  private static final double MOMENTUM = 0.9;
  private static final double DECAY = 1e-5;
  private static final double MU = 0.01;

  /** A round ends when its slowest worker does, and workers share few processors. */
  private static final int DEADLINE_MILLIS = 3_600_000;

  static List<FederatedCase> all() {
    JsonObject iid = new JsonObject().put("kind", "iid");
    JsonObject dirichlet = new JsonObject().put("kind", "dirichlet").put("alpha", 0.5);
    return List.of(
        new FederatedCase("fedavg", "iid", iid, 99.1),
        new FederatedCase("fedavg", "dirichlet 0.5", dirichlet, 98.9),
        new FederatedCase("fedavg", "2 labels", labels(2), 96.6),
        new FederatedCase("fedavg", "3 labels", labels(3), 98.2),
        new FederatedCase("fedprox", "2 labels", labels(2), 96.7),
        new FederatedCase("fednova", "2 labels", labels(2), 96.5));
  }

  private static JsonObject labels(int count) {
    return new JsonObject().put("kind", "byLabel").put("labels", count);
  }

  /** Returns the job file of one run. */
  JsonObject job(OwnDataOptions options, long seed) {
    JsonObject strategy =
        new JsonObject()
            .put("name", "federated")
            .put("rule", rule)
            .put("localEpochs", options.epochs())
            .put("deadlineMillis", DEADLINE_MILLIS);
    if (rule.equals("fedprox")) {
      strategy.put("mu", MU);
    }
    return new JsonObject()
        .put("job", "federated")
        .put("seed", seed)
        .put("steps", options.rounds())
        .put("data", options.data())
        .put("model", new JsonObject().put("name", LeNetFactory.class.getName()))
        .put(
            "optimizer",
            new JsonObject()
                .put("name", "sgd")
                .put("learningRate", RATE)
                .put("momentum", MOMENTUM)
                .put("l2", DECAY))
        .put("strategy", strategy)
        .put(
            "workers",
            new JsonObject()
                .put("count", WORKERS)
                .put("batch", BATCH)
                .put("partition", partition.copy()))
        .put(
            "exchange",
            new JsonObject()
                .put("deadlineMillis", DEADLINE_MILLIS)
                .put("stallMillis", DEADLINE_MILLIS))
        .put(
            "evaluator",
            new JsonObject()
                .put("every", Math.max(1, options.rounds() / 10))
                .put("samples", 2_000));
  }

  @Override
  public String toString() {
    return rule + ", " + data;
  }
}
