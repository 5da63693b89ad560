package io.vertigrad.benchmarks.compute;

import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Times the gradient steps of one model in this process, for a given number of seconds at a time.
 */
final class GradientStepTimer {

  private static final int FEWEST_STEPS = 3;

  private Runnable step;

  private GradientStepTimer() {}

  /** Answers {@code engine, model, batch, seconds} with the median milliseconds of a step. */
  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(new GradientStepTimer()::answer);
  }

  private JsonObject answer(JsonObject question) {
    if (step == null) {
      GradientCase measured =
          new GradientCase(question.getString("model"), question.getInteger("batch"));
      String engine = question.getString("engine");
      step = engine.equals("stock") ? StockDl4j.step(measured) : ours(engine, measured);
    }
    long limitNanos = (long) (question.getDouble("seconds") * 1e9);
    List<Double> millis = new ArrayList<>();
    long start = System.nanoTime();
    while (millis.size() < FEWEST_STEPS || System.nanoTime() - start < limitNanos) {
      long before = System.nanoTime();
      step.run();
      millis.add((System.nanoTime() - before) / 1e6);
    }
    return new JsonObject().put("medianMillis", Repetitions.of(millis).median());
  }

  private static Runnable ours(String engine, GradientCase measured) {
    Model model = Engine.named(engine).model(measured.config());
    Batch batch = measured.samples();
    return () -> model.gradient(batch);
  }
}
