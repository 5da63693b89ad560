package io.vertigrad.dashboard;

import io.vertigrad.http.HttpConnections;
import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.Router;
import java.net.BindException;
import java.util.Map;
import java.util.WeakHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs the HTTP server of a page, on its own port or on a free one when that port is taken. */
final class PageServer {

  private static final Logger LOG = LoggerFactory.getLogger(PageServer.class);
  private static final int MESSAGE_BYTES = 16 * 1024;
  private static final int IDLE_SECONDS = 60;
  private static final long LOOK_MILLIS = 1_000;

  /** Those of the most browsers that a page has, each with a socket, and as many others. */
  private static final int MOST_CONNECTIONS = 512;

  private static final int REQUESTS_AT_ONCE = 200;
  private static final int REQUESTS_PER_SECOND = 50;

  private final Vertx vertx;
  private final DashboardConfig where;
  private final Map<HttpConnection, Allowance> allowances = new WeakHashMap<>();
  private final HttpConnections connections =
      new HttpConnections(MOST_CONNECTIONS, System::nanoTime);

  PageServer(Vertx vertx, DashboardConfig where) {
    this.vertx = vertx;
    this.where = where;
  }

  /** Starts the server; completes with the page's address. */
  Future<String> start(Router router) {
    return listen(router, where.port())
        .recover(failure -> elsewhere(router, failure))
        .onSuccess(open -> vertx.setPeriodic(LOOK_MILLIS, tick -> connections.closeSlow()))
        .map(server -> url(server.actualPort()));
  }

  private String url(int port) {
    String host = where.host();
    return "http://%s:%s/".formatted(host.contains(":") ? "[" + host + "]" : host, port);
  }

  private Future<HttpServer> elsewhere(Router router, Throwable failure) {
    if (failure instanceof BindException && where.port() != 0) {
      LOG.info("port {} is taken, the dashboard listens on a free one", where.port());
      return listen(router, 0).recover(this::refused);
    }
    return refused(failure);
  }

  private Future<HttpServer> refused(Throwable failure) {
    return Future.failedFuture(
        "the dashboard cannot listen on %s, port %s: %s; set dashboard.host and dashboard.port (ui and"
                .formatted(where.host(), where.port(), failure.getMessage())
            + " replay: --host and --port), or train with --no-dashboard");
  }

  private Future<HttpServer> listen(Router router, int port) {
    return vertx
        .createHttpServer(options().setHost(where.host()).setPort(port))
        .connectionHandler(connections::add)
        .requestHandler(connections.guarding(request -> answer(router, request)))
        .listen();
  }

  /**
   * Answers a request. A connection that asks too often is closed, together with its queued
   * requests.
   */
  private void answer(Router router, HttpServerRequest request) {
    HttpConnection connection = request.connection();
    Allowance requests =
        allowances.computeIfAbsent(
            connection, fresh -> new Allowance(REQUESTS_AT_ONCE, REQUESTS_PER_SECOND));
    if (requests.take(System.nanoTime(), 1)) {
      router.handle(request);
    } else {
      connection.close();
    }
  }

  /**
   * Returns options without WebSocket compression: compressing every message for every browser
   * costs the run more than the bytes do.
   */
  private static HttpServerOptions options() {
    return HttpConnections.limited(new HttpServerOptions())
        .setPerMessageWebSocketCompressionSupported(false)
        .setPerFrameWebSocketCompressionSupported(false)
        .setMaxWebSocketFrameSize(MESSAGE_BYTES)
        .setMaxWebSocketMessageSize(MESSAGE_BYTES)
        .setWebSocketClosingTimeout(1)
        .setMaxFormAttributeSize(MESSAGE_BYTES)
        .setIdleTimeout(IDLE_SECONDS);
  }
}
