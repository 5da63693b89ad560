package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.ext.web.Router;
import java.util.concurrent.TimeUnit;

/**
 * Serves the page that shows a job, whose file is its configuration, and the event-bus bridge
 * behind it; Prometheus and health checks are answered beside it. What it shows comes from a
 * metrics or a replay verticle.
 */
public final class DashboardVerticle extends VerticleBase {

  private static final long LAST_WORDS_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LOOK_MILLIS = 10;

  private volatile String url;
  private final JobView view = new JobView();
  private RunMeters meters;
  private BrowserBridge bridge;

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    bridge = new BrowserBridge(vertx, job.addresses());
    bridge.open();
    meters = new RunMeters(job.addresses().job(), view, BusTraffic.of(vertx));
    vertx.eventBus().consumer(job.addresses().metrics(), delta -> view.take(delta.body()));
    Router router = DashboardRoutes.of(vertx, job, view, meters, bridge);
    return ClusterStreams.authenticate(vertx, job)
        .compose(proved -> new PageServer(vertx, job.dashboard()).start(router))
        .onSuccess(address -> url = address);
  }

  @Override
  public Future<?> stop() {
    if (meters == null) {
      return Future.succeededFuture();
    }
    meters.close();
    return lastWords(System.nanoTime());
  }

  /** Browsers are told how the run ended before their sockets close. */
  private Future<?> lastWords(long begunNanos) {
    return bridge.lacks(view.number()) && System.nanoTime() - begunNanos < LAST_WORDS_NANOS
        ? vertx.timer(LOOK_MILLIS, TimeUnit.MILLISECONDS).compose(go -> lastWords(begunNanos))
        : Future.succeededFuture();
  }

  /** Bytes that wait to be read by browsers. */
  long pendingBytes() {
    return bridge.pendingBytes();
  }

  /** Where the page is; once deployed. */
  public String url() {
    return url;
  }
}
