package io.vertigrad.benchmarks.convergence;

import io.vertx.core.json.JsonObject;

/**
 * One strategy with so many workers, which share a batch of 128 evenly.
 *
 * @param strategy name as in job files
 * @param workers how many
 * @param rounds steps of each worker, the same for all, and so the samples of the whole run
 * @param folder of the MNIST files; empty for generated digits
 */
record ConvergenceCase(String strategy, int workers, int rounds, String folder) {

  static final int BATCH = 128;
  static final int TESTS = 8;

  /** Of a step with the whole batch. */
  static final double LEARNING_RATE = 0.1;

  /** The job file, which tests the model eight times on the way. */
  JsonObject job(long seed) {
    JsonObject data = new JsonObject().put("name", folder.isEmpty() ? "digits" : "mnist");
    if (!folder.isEmpty()) {
      data.put("directory", folder);
    }
    return new JsonObject()
        .put("job", "convergence-%s-%d".formatted(strategy, workers))
        .put("seed", seed)
        .put("steps", rounds)
        .put("data", data)
        .put("model", new JsonObject().put("name", "convnet"))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", learningRate()))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", workers).put("batch", BATCH / workers))
        .put("evaluator", new JsonObject().put("every", rounds / TESTS).put("samples", 2_000));
  }

  /** Divided where a round is as many updates as workers, so that a round moves as far in all. */
  private double learningRate() {
    return strategy.equals("async") ? LEARNING_RATE / workers : LEARNING_RATE;
  }

  @Override
  public String toString() {
    return strategy + " x " + workers;
  }
}
