package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;

/** Members of a job, each as a verticle of this JVM. */
public final class EmbeddedDeployment implements Deployment {

  private final Vertx vertx;
  private final JobConfig job;
  private final LocalRoles roles;

  /** Everyone the job asks for. */
  public EmbeddedDeployment(Vertx vertx, JobConfig job) {
    this(vertx, job, LocalRoles.of(job));
  }

  /** These members only. */
  public EmbeddedDeployment(Vertx vertx, JobConfig job, LocalRoles roles) {
    this.vertx = vertx;
    this.job = job;
    this.roles = roles;
  }

  @Override
  public Future<Void> start() {
    List<Future<String>> deployed = new ArrayList<>();
    for (Role role : Role.values()) {
      for (int i = 0; i < roles.count(role); i++) {
        deployed.add(RoleVerticles.deploy(vertx, RoleVerticles.className(job, role), job));
      }
    }
    return Future.all(deployed).mapEmpty();
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
