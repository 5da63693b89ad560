package io.vertigrad.dashboard;

import io.vertigrad.http.OwnOrigin;
import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.CorsHandler;
import io.vertx.ext.web.handler.StaticHandler;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves the files of the pages, and protects every answer of a server that has them. */
final class PageFiles {

  private static final String FOLDER = "io/vertigrad/dashboard/page";
  private static final String CONTENT_POLICY =
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

  private static final int WRONG = 400;
  private static final int FAILED = 500;

  private static final Logger LOG = LoggerFactory.getLogger(PageFiles.class);

  private PageFiles() {}

  /** Returns a router that answers this server's own pages, and those in {@code origins}. */
  static Router guarded(Vertx vertx, DashboardConfig where) {
    Router router = Router.router(vertx);
    router.route().failureHandler(PageFiles::fail);
    OwnOrigin origin =
        new OwnOrigin(where.host(), where.hosts(), "dashboard.hosts", where.origins());
    router.route().handler(request -> check(origin, request)).handler(PageFiles::protect);
    if (!where.origins().isEmpty()) {
      CorsHandler others =
          CorsHandler.create()
              .addOrigins(where.origins())
              // SockJS asks so, although there are no cookies here.
              .allowCredentials(true)
              .allowedMethods(Set.of(HttpMethod.GET, HttpMethod.POST))
              .allowedHeader("Content-Type");
      router.route().handler(request -> share(where.origins(), others, request));
    }
    return router;
  }

  /** Lets a browser give the answer to another page that may ask; has no effect on our own. */
  private static void share(List<String> origins, CorsHandler others, RoutingContext request) {
    String origin = request.request().getHeader("Origin");
    if (origin != null && origins.contains(origin)) {
      others.handle(request);
    } else {
      request.next();
    }
  }

  private static void check(OwnOrigin origin, RoutingContext request) {
    origin
        .refusal(request.request())
        .ifPresentOrElse(
            why ->
                request
                    .response()
                    .setStatusCode(why.status())
                    .putHeader("Content-Type", "text/plain")
                    .end(why.reason() + "\n"),
            request::next);
  }

  /** Returns the JSON object in the body of a request; null if the body is anything else. */
  static JsonObject body(RoutingContext request) {
    try {
      return request.body().asJsonObject();
    } catch (DecodeException | ClassCastException malformed) {
      // JSON that is no object is cast without a look at it.
      return null;
    }
  }

  /** Returns a handler for every file, with this page for {@code /}. */
  static StaticHandler startingAt(String page) {
    return StaticHandler.create(FOLDER)
        .setIndexPage(page)
        .setCachingEnabled(false)
        .setFilesReadOnly(true)
        .setDirectoryListing(false);
  }

  /**
   * Answers a request that failed, or that a handler refused with a status, such as one that is too
   * large or names no host. Neither that nor a connection that breaks in the middle is logged as an
   * error.
   */
  private static void fail(RoutingContext request) {
    Throwable failure = request.failure();
    boolean refused = request.statusCode() >= WRONG && request.statusCode() < FAILED;
    if (failure != null && !refused && !(failure instanceof IOException)) {
      LOG.error("a request for {} failed", request.request().path(), failure);
    }
    HttpServerResponse response = request.response();
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(failure == null || refused ? request.statusCode() : FAILED);
      response.end(response.getStatusMessage() + "\n");
    }
  }

  private static void protect(RoutingContext request) {
    HttpServerResponse response = request.response();
    response.putHeader("Content-Security-Policy", CONTENT_POLICY);
    response.putHeader("X-Content-Type-Options", "nosniff");
    response.putHeader("X-Frame-Options", "DENY");
    response.putHeader("Referrer-Policy", "no-referrer");
    response.putHeader("Cross-Origin-Resource-Policy", "same-origin");
    response.putHeader("Cache-Control", "no-cache");
    request.next();
  }
}
