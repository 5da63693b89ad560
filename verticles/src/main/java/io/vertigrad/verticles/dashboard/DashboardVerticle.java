package io.vertigrad.verticles.dashboard;

import io.vertigrad.verticles.job.DashboardConfig;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import java.net.BindException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the page that shows a job, whose file is its configuration, and the event-bus bridge
 * behind it; Prometheus and health checks are answered beside it. What it shows comes from a
 * metrics or a replay verticle.
 */
public final class DashboardVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(DashboardVerticle.class);
  private static final int MESSAGE_BYTES = 16 * 1024;
  private static final int IDLE_SECONDS = 60;

  private volatile HttpServer server;
  private volatile String host;
  private RunMeters meters;

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    DashboardConfig dashboard = job.dashboard();
    host = dashboard.host();
    JobView view = new JobView();
    meters = new RunMeters(job.addresses().job(), view, BusTraffic.of(vertx));
    vertx
        .eventBus()
        .<JsonObject>consumer(job.addresses().metrics(), delta -> view.take(delta.body()));
    Router router = DashboardRoutes.of(vertx, job, view, meters);
    return listen(router, dashboard.port())
        .recover(failure -> elsewhere(router, dashboard.port(), failure))
        .onSuccess(listening -> server = listening);
  }

  @Override
  public Future<?> stop() {
    meters.close();
    return Future.succeededFuture();
  }

  /** Where the page is; once deployed. */
  public String url() {
    String name = host.contains(":") ? "[" + host + "]" : host;
    return "http://%s:%d/".formatted(name, server.actualPort());
  }

  private Future<HttpServer> elsewhere(Router router, int port, Throwable failure) {
    if (failure instanceof BindException && port != 0) {
      LOG.info("port {} is taken, the dashboard listens on a free one", port);
      return listen(router, 0);
    }
    return Future.failedFuture(
        "the dashboard cannot listen on %s, port %d: %s; set dashboard.host and dashboard.port, or"
                .formatted(host, port, failure.getMessage())
            + " leave it out with --no-dashboard");
  }

  private Future<HttpServer> listen(Router router, int port) {
    return vertx
        .createHttpServer(options().setHost(host).setPort(port))
        .requestHandler(router)
        .listen();
  }

  private static HttpServerOptions options() {
    return new HttpServerOptions()
        .setMaxWebSocketFrameSize(MESSAGE_BYTES)
        .setMaxWebSocketMessageSize(MESSAGE_BYTES)
        .setWebSocketClosingTimeout(1)
        .setMaxFormAttributeSize(MESSAGE_BYTES)
        .setIdleTimeout(IDLE_SECONDS);
  }
}
