package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.ext.healthchecks.HealthChecks;
import io.vertx.ext.healthchecks.Status;
import io.vertx.ext.web.healthchecks.HealthCheckHandler;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Reports whether this process is alive and whether its job is running, for probes that restart
 * processes or route requests. The status is 200 when all checks are up, else 503; the body has the
 * checks as JSON.
 */
final class JobHealth {

  private static final Set<String> AT_WORK = Set.of("running", "paused");

  private final Vertx vertx;
  private final JobConfig job;
  private final JobView view;

  JobHealth(Vertx vertx, JobConfig job, JobView view) {
    this.vertx = vertx;
    this.job = job;
    this.view = view;
  }

  /**
   * Returns a check that is up whenever the event loop answers: only a blocked loop needs a
   * restart.
   */
  HealthCheckHandler live() {
    return handler(HealthChecks.create(vertx).register("answers", up -> up.complete(Status.OK())));
  }

  /**
   * Returns checks that are up while the job runs or is paused, has enough members, and this node
   * is in the cluster.
   */
  HealthCheckHandler ready() {
    return handler(
        HealthChecks.create(vertx)
            .register("job", check(this::running))
            .register("members", check(this::members))
            .register("cluster", check(this::cluster)));
  }

  private Status running() {
    JsonObject found = new JsonObject().put("phase", view.phase());
    return status(AT_WORK.contains(view.phase()), found);
  }

  private Status members() {
    long workers = view.present("worker");
    long servers = view.present("server");
    int leastWorkers = job.workers().minimum();
    int leastServers = view.state().getInteger("servers", 0);
    JsonObject found =
        new JsonObject()
            .put("workers", workers)
            .put("workersMinimum", leastWorkers)
            .put("servers", servers)
            .put("serversMinimum", leastServers);
    return status(workers >= leastWorkers && servers >= leastServers, found);
  }

  private Status cluster() {
    JsonObject found = new JsonObject().put("clustered", vertx.isClustered());
    if (!vertx.isClustered()) {
      return status(true, found);
    }
    ClusterManager cluster = ((VertxInternal) vertx).clusterManager();
    boolean active = cluster.isActive();
    return status(active, found.put("nodes", active ? cluster.getNodes().size() : 0));
  }

  private static Status status(boolean up, JsonObject found) {
    return (up ? Status.OK() : Status.KO()).setData(found);
  }

  private static Handler<Promise<Status>> check(Supplier<Status> look) {
    return promise -> promise.complete(look.get());
  }

  private static HealthCheckHandler handler(HealthChecks checks) {
    return HealthCheckHandler.createWithHealthChecks(checks);
  }
}
