package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertigrad.observability.JobRoutes;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.ext.web.Router;
import java.util.concurrent.TimeUnit;

/**
 * Serves the page that shows a job, and the page's event-bus bridge; also answers Prometheus and
 * health checks. Its configuration is the job file. A metrics or a replay verticle supplies the
 * data.
 */
public final class DashboardVerticle extends VerticleBase {

  private static final long LAST_WORDS_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LOOK_MILLIS = 10;

  private volatile String url;
  private JobRoutes probes;
  private BrowserBridge bridge;

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    bridge = new BrowserBridge(vertx, job.addresses());
    bridge.open();
    probes = new JobRoutes(vertx, job);
    Router router = DashboardRoutes.of(vertx, job, probes, bridge);
    return ClusterStreams.authenticate(vertx, job)
        .compose(proved -> new PageServer(vertx, job.dashboard()).start(router))
        .onSuccess(address -> url = address);
  }

  @Override
  public Future<?> stop() {
    if (probes == null) {
      return Future.succeededFuture();
    }
    probes.close();
    return lastWords(System.nanoTime());
  }

  /**
   * Waits up to a second until browsers have been sent the last delta, which says how the run
   * ended, before their sockets close.
   */
  private Future<?> lastWords(long begunNanos) {
    return bridge.hasUnsentDelta() && System.nanoTime() - begunNanos < LAST_WORDS_NANOS
        ? vertx.timer(LOOK_MILLIS, TimeUnit.MILLISECONDS).compose(go -> lastWords(begunNanos))
        : Future.succeededFuture();
  }

  /** Returns the unsent bytes for all browsers. */
  long pendingBytes() {
    return bridge.pendingBytes();
  }

  /** Returns the page's address, once the verticle is deployed. */
  public String url() {
    return url;
  }
}
