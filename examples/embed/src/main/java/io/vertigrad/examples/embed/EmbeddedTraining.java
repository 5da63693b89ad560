package io.vertigrad.examples.embed;

import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Vertx;
import java.nio.file.Path;

/** Trains a whole job in the application's own Vert.x and prints the events. */
public final class EmbeddedTraining {

  /** Trains {@code job.json}, or the job file named as the only argument. */
  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    TrainingJob.of(Path.of(arguments.length > 0 ? arguments[0] : "job.json"))
        .deploy(vertx)
        .onSuccess(job -> job.events().subscribe(System.out::println))
        .compose(RunningJob::result)
        .onSuccess(result -> System.out.printf("accuracy: %.2f %%%n", result.accuracy()))
        .onFailure(failure -> System.err.println(failure.getMessage()))
        .onComplete(ended -> vertx.close());
  }
}
