package io.vertigrad.benchmarks.scaling;

import io.vertx.core.json.JsonObject;

/**
 * One training run on generated digits.
 *
 * @param model name as in job files
 * @param strategy {@code sync} or {@code async}
 * @param workers how many
 * @param processes whether each role has a process of its own
 * @param samples training samples of the whole run, the same whatever the number of workers
 */
record TrainingCase(String model, String strategy, int workers, boolean processes, long samples) {

  static final int BATCH = 128;

  /** The job file; nobody evaluates on the way, because that would be measured too. */
  JsonObject job() {
    return new JsonObject()
        .put("job", "scaling-%s-%s-%d".formatted(model, strategy, workers))
        .put("steps", Math.max(1, samples / BATCH / workers))
        .put("model", new JsonObject().put("name", model))
        .put("data", new JsonObject().put("name", "digits"))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", workers).put("batch", BATCH))
        .put("evaluator", new JsonObject().put("count", 0));
  }

  @Override
  public String toString() {
    return "%s, %s, %d %s, %s"
        .formatted(
            model,
            strategy,
            workers,
            workers == 1 ? "worker" : "workers",
            processes ? "processes" : "embedded");
  }
}
