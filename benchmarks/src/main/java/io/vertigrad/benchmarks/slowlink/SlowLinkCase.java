package io.vertigrad.benchmarks.slowlink;

import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * A way to exchange.
 *
 * @param name as it is reported
 * @param strategy section of the job file
 * @param compression {@code exchange.compression}
 */
record SlowLinkCase(String name, JsonObject strategy, String compression) {

  static final int BATCH = 64;
  private static final int STEPS = 1_000_000;

  /** Returns all cases. */
  static List<SlowLinkCase> all() {
    JsonObject diloco = strategy("diloco").put("syncEvery", 100);
    JsonObject streaming =
        strategy("diloco").put("syncEvery", 100).put("fragments", 4).put("fragmentSyncDelay", 10);
    return List.of(
        new SlowLinkCase("sync", strategy("sync"), "none"),
        new SlowLinkCase("sync, int8", strategy("sync"), "int8"),
        new SlowLinkCase("allreduce", strategy("allreduce"), "none"),
        new SlowLinkCase(
            "allreduce, PowerSGD 2", strategy("allreduce").put("powerSgdRank", 2), "none"),
        new SlowLinkCase("local, every 10", strategy("local").put("every", 10), "none"),
        new SlowLinkCase("diloco, every 100, int4", diloco, "int4"),
        new SlowLinkCase("diloco, 4 fragments, int4", streaming, "int4"),
        new SlowLinkCase("diloco, every 100", diloco, "none"),
        new SlowLinkCase("allreduce, int8", strategy("allreduce"), "int8"),
        new SlowLinkCase("allreduce, sign", strategy("allreduce"), "sign"),
        new SlowLinkCase("dpsgd", strategy("dpsgd"), "none"),
        new SlowLinkCase("dpsgd, int8", strategy("dpsgd"), "int8"));
  }

  boolean hasServers() {
    return strategy.getString("name").equals("sync");
  }

  private static JsonObject strategy(String name) {
    return new JsonObject().put("name", name);
  }

  /**
   * Returns the job file.
   *
   * @param model name of the model
   * @param minutes training time
   * @param folder folder of the data set's files; empty for generated data
   * @param port port of the cluster
   */
  JsonObject job(String model, double minutes, String folder, int port) {
    boolean colours = model.equals("resnet20");
    String generated = colours ? "shapes" : "digits";
    String files = colours ? "cifar10" : "mnist";
    JsonObject data = new JsonObject().put("name", folder.isEmpty() ? generated : files);
    if (!folder.isEmpty()) {
      data.put("directory", folder);
    }
    return new JsonObject()
        .put("job", "slow-link")
        .put("steps", STEPS)
        .put("stop", new JsonObject().put("minutes", minutes))
        .put("data", data)
        .put("model", new JsonObject().put("name", model))
        .put("optimizer", new JsonObject().put("learningRate", 0.1))
        .put("strategy", strategy)
        .put("exchange", exchange())
        .put("workers", new JsonObject().put("count", 2).put("batch", BATCH).put("waitSeconds", 60))
        .put("evaluator", new JsonObject().put("every", STEPS))
        .put("dashboard", new JsonObject().put("enabled", false))
        .put("checkpoint", new JsonObject().put("seconds", 0))
        .put("cluster", new JsonObject().put("port", port));
  }

  /** Shared memory would bypass the link. */
  private JsonObject exchange() {
    return new JsonObject().put("transport", "stream").put("compression", compression);
  }
}
