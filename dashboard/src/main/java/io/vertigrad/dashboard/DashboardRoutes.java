package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.job.JobConfig;
import io.vertigrad.observability.JobRoutes;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.ext.web.handler.sockjs.SockJSHandler;
import io.vertx.ext.web.handler.sockjs.SockJSHandlerOptions;

/**
 * Builds the routes: the bridge below {@code /eventbus}, {@code /metrics} for Prometheus, {@code
 * /health} for probes, the page's files everywhere else.
 */
final class DashboardRoutes {

  private static final int BODY_BYTES = 16 * 1024;

  private DashboardRoutes() {}

  static Router of(Vertx vertx, JobConfig job, JobRoutes probes, BrowserBridge bridge) {
    Addresses addresses = job.addresses();
    Router router = PageFiles.guarded(vertx, job.dashboard().host());
    router
        .route("/eventbus/*")
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES))
        .subRouter(SockJSHandler.create(vertx, transports()).socketHandler(bridge));
    probes.mount(router);
    router
        .get("/job")
        .respond(request -> Future.succeededFuture(new JsonObject().put("job", addresses.job())));
    router.get().handler(PageFiles.startingAt("index.html"));
    return router;
  }

  private static SockJSHandlerOptions transports() {
    return new SockJSHandlerOptions()
        .setRegisterWriteHandler(false)
        .setInsertJSESSIONID(false)
        .setLibraryURL("/vendor/sockjs-client/sockjs.min.js")
        .addDisabledTransport("EVENT_SOURCE")
        .addDisabledTransport("HTML_FILE")
        .addDisabledTransport("JSON_P");
  }
}
