package io.vertigrad.examples.serve;

import io.vertigrad.serving.Predictions;
import io.vertigrad.serving.Predictors;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;

/** Trains a model of flowers in its own Vert.x, and asks it about one of them meanwhile. */
public final class ServingApplication {

  private static final JsonObject FLOWER =
      new JsonObject().put("length", 5.9).put("width", 1.8).put("soil", "clay");

  /** Trains {@code job.json}, or the job file named as the only argument. */
  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    TrainingJob.of(Path.of(arguments.length > 0 ? arguments[0] : "job.json"))
        .deploy(vertx)
        .compose(
            job ->
                Predictors.deploy(vertx, job.config()).compose(ready -> askUntilOver(vertx, job)))
        .onFailure(failure -> System.err.println(failure.getMessage()))
        .onComplete(ended -> vertx.close());
  }

  private static Future<Void> askUntilOver(Vertx vertx, RunningJob job) {
    Predictions predictions = Predictions.of(vertx, job.config().addresses().job());
    long timer = vertx.setPeriodic(500, tick -> ask(predictions));
    return job.result()
        .compose(result -> ask(predictions))
        .onComplete(last -> vertx.cancelTimer(timer));
  }

  private static Future<Void> ask(Predictions predictions) {
    return predictions
        .predict(FLOWER)
        .onSuccess(
            found ->
                System.out.printf(
                    "version %d, %d ms old: %s%n",
                    found.version(), found.ageMillis(), found.classes().get(0)))
        .onFailure(notYet -> System.out.println(notYet.getMessage()))
        .mapEmpty();
  }
}
