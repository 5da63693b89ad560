package io.vertigrad.benchmarks.pipeline;

import io.vertx.core.json.JsonObject;

/**
 * One training run of a model, whole or in stages, each member in its own process.
 *
 * @param name the model's name in the table
 * @param model its section of the job file
 * @param data its section of the job file
 * @param optimizer the optimizer's name
 * @param stages number of stages; 0 for the whole model in one worker
 * @param microBatches micro-batches of a step
 * @param steps steps of the run
 */
public record PipelineCase(
    String name,
    JsonObject model,
    JsonObject data,
    String optimizer,
    int stages,
    int microBatches,
    int steps) {

  static final int BATCH = 64;

  /** A large model takes long to build on a busy machine; the run must not fail for that. */
  private static final int WAIT_SECONDS = 120;

  /** Returns the job file. It runs no evaluator, because that would be measured too. */
  public JsonObject job() {
    JsonObject job =
        new JsonObject()
            .put("job", "pipeline-" + stages)
            .put("steps", steps)
            .put("model", model)
            .put("data", data)
            .put("optimizer", new JsonObject().put("name", optimizer).put("learningRate", 0.001))
            .put("strategy", new JsonObject().put("name", "allreduce"))
            .put("workers", new JsonObject().put("batch", BATCH).put("waitSeconds", WAIT_SECONDS))
            .put("evaluator", new JsonObject().put("count", 0).put("every", steps));
    if (stages == 0) {
      job.getJsonObject("workers").put("count", 1);
    } else {
      job.put("pipeline", new JsonObject().put("stages", stages).put("microBatches", microBatches));
    }
    return job;
  }

  @Override
  public String toString() {
    return stages == 0
        ? name + ", whole"
        : "%s, %s stages, %s micro-batches".formatted(name, stages, microBatches);
  }
}
