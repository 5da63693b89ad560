package io.vertigrad.benchmarks.overlap;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * ResNet-20 on two workers in processes, over a link of a given speed.
 *
 * @param strategy name as in job files
 * @param megabits speed of each process's link in millions of bits per second
 */
record OverlapCase(String strategy, int megabits) {

  static final int BATCH = 64;
  private static final int WORKERS = 2;

  /** Returns all cases, by strategy, the slowest link first. */
  static List<OverlapCase> all() {
    List<OverlapCase> cases = new ArrayList<>();
    for (String strategy : List.of("sync", "allreduce")) {
      for (int megabits : new int[] {100, 1_000}) {
        cases.add(new OverlapCase(strategy, megabits));
      }
    }
    return cases;
  }

  /**
   * Returns the job file. It runs no tests and writes no checkpoints on the way, because they would
   * be measured.
   */
  JsonObject job(int steps, boolean overlap) {
    return new JsonObject()
        .put("job", "overlap-%s-%s-%b".formatted(strategy, megabits, overlap))
        .put("steps", steps)
        .put("timeline", true)
        .put("model", new JsonObject().put("name", "resnet20"))
        .put("data", new JsonObject().put("name", "shapes").put("train", 2_000).put("test", 100))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", 0.01))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", WORKERS).put("batch", BATCH))
        .put("evaluator", new JsonObject().put("every", 1_000_000).put("samples", 100))
        .put("checkpoint", new JsonObject().put("seconds", 0))
        .put("exchange", new JsonObject().put("transport", "stream").put("overlap", overlap));
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%s, %,d Mbit/s", strategy, megabits);
  }
}
