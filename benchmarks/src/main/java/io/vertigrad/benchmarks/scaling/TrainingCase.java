package io.vertigrad.benchmarks.scaling;

import io.vertx.core.json.JsonObject;

/**
 * One training run on generated data.
 *
 * @param model name as in job files
 * @param strategy name as in job files
 * @param workers number of workers
 * @param processes whether each role has its own process
 * @param samples training samples of the whole run, the same for any number of workers
 */
public record TrainingCase(
    String model, String strategy, int workers, boolean processes, long samples) {

  static final int BATCH = 128;

  /** Returns the job file. It runs no evaluator, because that would be measured too. */
  public JsonObject job() {
    boolean colour = model.equals("resnet20");
    return new JsonObject()
        .put("job", "scaling-%s-%s-%s".formatted(model, strategy, workers))
        .put("steps", Math.max(1, samples / BATCH / workers))
        .put("model", new JsonObject().put("name", model))
        .put("data", new JsonObject().put("name", colour ? "shapes" : "digits"))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", workers).put("batch", BATCH))
        .put("evaluator", new JsonObject().put("count", 0).put("every", 1_000_000));
  }

  @Override
  public String toString() {
    return "%s, %s, %s %s, %s"
        .formatted(
            model,
            strategy,
            workers,
            workers == 1 ? "worker" : "workers",
            processes ? "processes" : "embedded");
  }
}
