package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;

/**
 * Serves the page that shows a job, whose file is its configuration, and the event-bus bridge
 * behind it; Prometheus and health checks are answered beside it. What it shows comes from a
 * metrics or a replay verticle.
 */
public final class DashboardVerticle extends VerticleBase {

  private volatile String url;
  private RunMeters meters;

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    JobView view = new JobView();
    meters = new RunMeters(job.addresses().job(), view, BusTraffic.of(vertx));
    vertx
        .eventBus()
        .<JsonObject>consumer(job.addresses().metrics(), delta -> view.take(delta.body()));
    Router router = DashboardRoutes.of(vertx, job, view, meters);
    return new PageServer(vertx, job.dashboard()).start(router).onSuccess(address -> url = address);
  }

  @Override
  public Future<?> stop() {
    meters.close();
    return Future.succeededFuture();
  }

  /** Where the page is; once deployed. */
  public String url() {
    return url;
  }
}
