package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.job.JobConfig;
import io.vertigrad.observability.JobRoutes;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.ext.web.handler.sockjs.SockJSHandler;
import io.vertx.ext.web.handler.sockjs.SockJSHandlerOptions;

/**
 * Builds the routes: the bridge below {@code /eventbus}, {@code /metrics} for Prometheus, {@code
 * /health} for probes, the page's files everywhere else.
 */
final class DashboardRoutes {

  private static final int BODY_BYTES = 16 * 1024;
  private static final int ACCEPTED = 202;
  private static final int REFUSED = 400;

  private DashboardRoutes() {}

  static Router of(Vertx vertx, JobConfig job, JobRoutes probes, BrowserBridge bridge) {
    Addresses addresses = job.addresses();
    Router router = PageFiles.guarded(vertx, job.dashboard());
    router
        .route("/eventbus/*")
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES))
        .subRouter(SockJSHandler.create(vertx, transports()).socketHandler(bridge));
    probes.mount(router);
    router
        .post("/drain")
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES))
        .handler(request -> drain(vertx, addresses, request));
    router
        .get("/job")
        .respond(request -> Future.succeededFuture(new JsonObject().put("job", addresses.job())));
    router.get().handler(PageFiles.startingAt("index.html"));
    return router;
  }

  /** Passes a request for a member to leave on, as if the page had sent it: with the token. */
  private static void drain(Vertx vertx, Addresses addresses, RoutingContext request) {
    JsonObject body = PageFiles.body(request);
    if (body == null) {
      String expected = "expected a body like {\"member\": \"worker 1\", \"token\": \"...\"}\n";
      request.response().setStatusCode(REFUSED).end(expected);
      return;
    }
    JsonObject control =
        JsonObject.of("request", "control", "action", "drain")
            .put("member", body.getValue("member"))
            .put("token", body.getValue("token"));
    vertx
        .eventBus()
        .<JsonObject>request(addresses.metricsRequests(), control)
        .onSuccess(
            answer -> {
              boolean refused = answer.body().containsKey("refused");
              request.response().setStatusCode(refused ? REFUSED : ACCEPTED);
              request.json(answer.body());
            })
        .onFailure(request::fail);
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
