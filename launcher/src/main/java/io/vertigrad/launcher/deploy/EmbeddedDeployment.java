package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;

/** Runs each member of a job as a verticle of this JVM. */
final class EmbeddedDeployment implements Deployment {

  private final Vertx vertx;
  private final JobConfig job;
  private final LocalMembers members;

  /** Creates a deployment of these members only. */
  EmbeddedDeployment(Vertx vertx, JobConfig job, LocalMembers members) {
    this.vertx = vertx;
    this.job = job;
    this.members = members;
  }

  @Override
  public Future<Void> start() {
    return members.deploy(vertx, job);
  }

  @Override
  public Future<Void> broken() {
    return Promise.<Void>promise().future();
  }

  /**
   * Does nothing: members leave when the coordinator releases them, or at the latest when Vert.x
   * closes.
   */
  @Override
  public Future<Void> stop() {
    return Future.succeededFuture();
  }
}
