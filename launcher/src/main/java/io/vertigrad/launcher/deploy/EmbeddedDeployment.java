package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;

/** Members of a job, each as a verticle of this JVM. */
public final class EmbeddedDeployment implements Deployment {

  private final Vertx vertx;
  private final JobConfig job;
  private final LocalMembers members;

  /** These members only. */
  public EmbeddedDeployment(Vertx vertx, JobConfig job, LocalMembers members) {
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

  /** Members go when the coordinator says so, and with Vert.x at the latest. */
  @Override
  public Future<Void> stop() {
    return Future.succeededFuture();
  }
}
