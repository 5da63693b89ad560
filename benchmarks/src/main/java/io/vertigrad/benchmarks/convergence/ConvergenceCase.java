package io.vertigrad.benchmarks.convergence;

import io.vertx.core.json.JsonObject;

/**
 * One strategy and number of workers, which share a batch of 128 evenly.
 *
 * @param strategy name as in job files
 * @param workers number of workers
 * @param rounds steps of each worker, the same in all cases, so that all runs see the same number
 *     of samples
 * @param folder folder of the MNIST files; empty for generated digits
 */
record ConvergenceCase(String strategy, int workers, int rounds, String folder) {

  static final int BATCH = 128;
  static final int TESTS = 8;

  /** Learning rate of a step with the whole batch. */
  static final double LEARNING_RATE = 0.1;

  /** Returns the job file, which tests the model eight times during the run. */
  JsonObject job(long seed) {
    JsonObject data = new JsonObject().put("name", folder.isEmpty() ? "digits" : "mnist");
    if (!folder.isEmpty()) {
      data.put("directory", folder);
    }
    return new JsonObject()
        .put("job", "convergence-%s-%s".formatted(strategy, workers))
        .put("seed", seed)
        .put("steps", rounds)
        .put("data", data)
        .put("model", new JsonObject().put("name", "convnet"))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", learningRate()))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", workers).put("batch", BATCH / workers))
        .put("evaluator", new JsonObject().put("every", rounds / TESTS).put("samples", 2_000));
  }

  /**
   * Returns the learning rate. It is divided by the workers when a round has an update of each
   * worker, so that a round moves the parameters equally far.
   */
  private double learningRate() {
    return strategy.equals("async") ? LEARNING_RATE / workers : LEARNING_RATE;
  }

  @Override
  public String toString() {
    return strategy + " x " + workers;
  }
}
