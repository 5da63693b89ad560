package io.vertigrad.observability;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.healthchecks.Status;
import io.vertx.ext.web.Router;

/**
 * The paths {@code /metrics} for Prometheus and {@code /health}, {@code /health/live} and {@code
 * /health/ready} for probes, of a job and of this process. Create them before the job starts.
 */
public final class JobRoutes implements AutoCloseable {

  private final Vertx vertx;
  private final JobConfig job;
  private final ProcessMeters process;
  private final JobMeters meters;

  /**
   * Begins to follow a job.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's configuration
   */
  public JobRoutes(Vertx vertx, JobConfig job) {
    this.vertx = vertx;
    this.job = job;
    String name = job.addresses().job();
    process = new ProcessMeters(name);
    process.bus(vertx);
    meters = JobMeters.bind(vertx, name, process.registry());
  }

  /**
   * Adds the paths to a router.
   *
   * @param router the router of an HTTP server of this process
   */
  public void mount(Router router) {
    process.mount(router);
    new HealthRoutes(vertx)
        .ready("job", this::running)
        .ready("members", this::members)
        .ready("cluster", () -> HealthRoutes.cluster(vertx))
        .mount(router);
  }

  /** Stops following the job. */
  @Override
  public void close() {
    meters.close();
    process.close();
  }

  private Status running() {
    JobStatus status = meters.status();
    return HealthRoutes.status(status.atWork(), new JsonObject().put("phase", status.phase()));
  }

  private Status members() {
    JobStatus status = meters.status();
    int workers = status.present(Role.WORKER);
    int servers = status.present(Role.SERVER);
    int leastWorkers = job.workers().minimum();
    int leastServers = status.servers().orElse(0);
    JsonObject found =
        new JsonObject()
            .put("workers", workers)
            .put("workersMinimum", leastWorkers)
            .put("servers", servers)
            .put("serversMinimum", leastServers);
    return HealthRoutes.status(workers >= leastWorkers && servers >= leastServers, found);
  }
}
