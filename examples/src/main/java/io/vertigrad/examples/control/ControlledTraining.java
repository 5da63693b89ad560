package io.vertigrad.examples.control;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.ClusterStreams;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import java.nio.file.Path;

/** Controls a job that the application has deployed. */
final class ControlledTraining {

  private ControlledTraining() {}

  /** Stops a job as soon as a test reaches this accuracy, in percent, and saves its model. */
  static Future<TrainingResult> trainUntil(double accuracy, RunningJob job, Path file) {
    job.events()
        .ofType(Evaluated.class)
        .filter(test -> test.accuracy() >= accuracy)
        .take(1)
        .subscribe(test -> job.stop());
    return job.result().compose(result -> job.saveModel(file).map(saved -> result));
  }

  /** Coordinates a job whose workers all join from elsewhere. */
  static Future<RunningJob> lead(Vertx clustered, EventBusOptions bus, JobConfig config) {
    ClusterStreams.open(clustered, bus);
    LocalMembers all = LocalMembers.of(config);
    return TrainingJob.of(config).here(all.withWorkers(0)).deploy(clustered);
  }
}
