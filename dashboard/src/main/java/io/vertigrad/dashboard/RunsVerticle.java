package io.vertigrad.dashboard;

import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;

/**
 * Serves the page that lists the runs of a folder and draws their curves, as {@code
 * docs/reference/metrics.md} describes it.
 */
public final class RunsVerticle extends VerticleBase {

  private static final String JSON = "application/json";

  /** What browsers send with requests of our pages, and of a person who types the address. */
  private static final Set<String> OWN_SITE = Set.of("same-origin", "none");

  private static final int RUNS_AT_ONCE = 16;
  private static final int READERS = 2;

  /** Less than the time after which an idle connection is closed. */
  private static final int READ_SECONDS = 50;

  private static final int BODY_BYTES = 64 * 1024;
  private static final int FOUND = 302;
  private static final int WRONG = 400;
  private static final int FORBIDDEN = 403;
  private static final int UNKNOWN = 404;
  private static final int CONFLICT = 409;

  private final DashboardConfig where;
  private final AccessToken token;
  private final Source source;
  private final BiFunction<String, Future<Void>, Future<String>> pages;
  private WorkerExecutor readers;
  private Future<Buffer> listing;
  private volatile String url;

  /** Reads the runs of a folder. Every method blocks; several threads may call it at once. */
  public interface Source {

    /** Returns a JSON object with {@code folder} and {@code runs}, the newest run first. */
    Buffer list();

    /**
     * Returns the curves of a run as a JSON object, or one with a {@code problem} when it cannot be
     * read.
     *
     * @param gone returns true when nobody waits for them any more
     * @throws java.util.concurrent.CancellationException then, perhaps
     */
    Buffer curves(String name, BooleanSupplier gone);

    /**
     * Changes the tags, the note or the mark of a run.
     *
     * @param change some of {@code tags}, {@code note} and {@code kept}
     * @return all of them as they are now
     * @throws NoSuchElementException when there is no such run
     * @throws RuntimeException saying what is wrong with the change, or with the file
     */
    JsonObject annotate(String name, JsonObject change);
  }

  /**
   * Creates the verticle.
   *
   * @param where address and port
   * @param token who has it may change tags and notes
   * @param pages returns the address of a run's page; fails with a {@link NoSuchElementException}
   *     when there is no such run. Its second argument completes when nobody waits for the answer
   */
  public RunsVerticle(
      DashboardConfig where,
      String token,
      Source source,
      BiFunction<String, Future<Void>, Future<String>> pages) {
    this.where = where;
    this.token = new AccessToken(token);
    this.source = source;
    this.pages = pages;
  }

  @Override
  public Future<?> start() {
    readers = vertx.createSharedWorkerExecutor("vertigrad-runs", READERS);
    Router router = PageFiles.guarded(vertx, where);
    router.get("/runs").handler(this::list);
    router.get("/curves").handler(this::curves);
    router.get("/run").handler(this::page);
    router
        .post("/notes")
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES))
        .handler(this::annotate);
    router.get().handler(PageFiles.startingAt("runs.html"));
    return new PageServer(vertx, where).start(router).onSuccess(address -> url = address);
  }

  @Override
  public Future<?> stop() {
    return readers == null ? Future.succeededFuture() : readers.close();
  }

  /** Returns the page's address, once the verticle is deployed. */
  public String url() {
    return url;
  }

  /** Lists the runs; pages that ask at the same time get the same list. */
  private void list(RoutingContext request) {
    if (listing == null || listing.isComplete()) {
      listing = vertx.executeBlocking(source::list, false);
    }
    answer(request, listing);
  }

  private void curves(RoutingContext request) {
    List<String> names = request.queryParam("run");
    if (names.isEmpty() || names.size() > RUNS_AT_ONCE) {
      String expected = "expected 1 to %s runs, as in /curves?run=NAME&run=NAME; found %s";
      refuse(request, WRONG, expected.formatted(RUNS_AT_ONCE, names.size()));
      return;
    }
    AtomicBoolean gone = new AtomicBoolean();
    gone(request).onSuccess(closed -> gone.set(true));
    List<Future<Buffer>> curves =
        names.stream()
            .map(name -> readers.executeBlocking(() -> source.curves(name, gone::get), false))
            .toList();
    Future<Buffer> read =
        Future.all(curves)
            .map(all -> joined(all.list()))
            .timeout(READ_SECONDS, TimeUnit.SECONDS)
            .onFailure(late -> gone.set(true));
    answer(request, read);
  }

  /** Completes when the client has closed its connection before it was answered. */
  private static Future<Void> gone(RoutingContext request) {
    Promise<Void> gone = Promise.promise();
    request.response().closeHandler(closed -> gone.tryComplete());
    return gone.future();
  }

  private static Buffer joined(List<Buffer> runs) {
    Buffer json = Buffer.buffer("{\"runs\":[");
    for (int i = 0; i < runs.size(); i++) {
      json.appendString(i == 0 ? "" : ",").appendBuffer(runs.get(i));
    }
    return json.appendString("]}");
  }

  private static void answer(RoutingContext request, Future<Buffer> json) {
    json.onSuccess(body -> request.response().putHeader("Content-Type", JSON).end(body))
        .onFailure(why -> refuse(request, why));
  }

  /** Opens the page of a run, unless another site's page asks: it would start a replay unseen. */
  private void page(RoutingContext request) {
    String site = request.request().getHeader("Sec-Fetch-Site");
    if (site != null && !OWN_SITE.contains(site)) {
      refuse(request, FORBIDDEN, "only pages of this server may ask");
      return;
    }
    String name = request.queryParams().get("name");
    if (name == null) {
      refuse(request, WRONG, "expected the name of a run, as in /run?name=NAME");
      return;
    }
    pages
        .apply(name, gone(request))
        .onSuccess(
            page ->
                request
                    .response()
                    .setStatusCode(FOUND)
                    .putHeader("Location", asAsked(request, page))
                    .end())
        .onFailure(why -> refuse(request, why));
  }

  /** Returns the address of a page of this server's host, by the name that the browser uses. */
  private String asAsked(RoutingContext request, String page) {
    String asked = request.request().getHeader("Host");
    String own = "http://" + where.host() + ":";
    return asked == null || !page.startsWith(own)
        ? page
        : "http://%s:%s".formatted(asked.replaceFirst(":\\d*$", ""), page.substring(own.length()));
  }

  private void annotate(RoutingContext request) {
    JsonObject change = PageFiles.body(request);
    if (change == null || !(change.getValue("run") instanceof String name)) {
      refuse(
          request,
          WRONG,
          "expected a body like {\"run\": \"NAME\", \"token\": \"...\", \"note\": \"...\"}");
      return;
    }
    if (!token.is(change.remove("token"))) {
      refuse(
          request,
          FORBIDDEN,
          "wrong token: open the address with #token= that vertigrad ui printed");
      return;
    }
    change.remove("run");
    readers
        .executeBlocking(() -> source.annotate(name, change), false)
        .onSuccess(request::json)
        .onFailure(why -> refuse(request, why));
  }

  private static void refuse(RoutingContext request, Throwable why) {
    int status =
        why instanceof NoSuchElementException
            ? UNKNOWN
            : why instanceof IllegalArgumentException ? WRONG : CONFLICT;
    refuse(request, status, why.getMessage());
  }

  private static void refuse(RoutingContext request, int status, String why) {
    if (!request.response().closed()) {
      request.response().setStatusCode(status);
      request.json(MetricsRequestHandler.refused(why));
    }
  }
}
