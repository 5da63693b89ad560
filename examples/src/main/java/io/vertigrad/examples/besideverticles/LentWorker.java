package io.vertigrad.examples.besideverticles;

import io.vertigrad.job.JobConfig;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;

/** Adds a worker to a job whose cluster the application's Vert.x is in. */
final class LentWorker {

  private LentWorker() {}

  static Future<String> deploy(Vertx clustered, JobConfig job) {
    return clustered.deployVerticle(
        new WorkerVerticle(), new DeploymentOptions().setConfig(job.json()));
  }
}
