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
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Serves the page that lists the runs of a folder and draws their curves, as {@code
 * docs/reference/metrics.md} describes it.
 */
public final class RunsVerticle extends VerticleBase {

  private static final String JSON = "application/json";

  /** What browsers send with requests of our pages, and of a person who types the address. */
  private static final Set<String> OWN_SITE = Set.of("same-origin", "none");

  /** The name of a run in a path behind the base path, and what is asked of its page. */
  private static final Pattern PAGE = Pattern.compile("/run/([^/]+)(/.*)?");

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
  private static final int UNREACHED = 502;

  private final DashboardConfig where;
  private final AccessToken token;
  private final Source source;
  private final Pages pages;
  private final String basePath;
  private WorkerExecutor readers;
  private PageProxy proxy;
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
     * Returns the list as CSV by RFC 4180, with the columns of the page.
     *
     * @param archived whether runs are in it that the list hides
     */
    Buffer csv(boolean archived);

    /**
     * Changes the tags, the note or a mark of a run.
     *
     * @param change some of {@code tags}, {@code note}, {@code kept} and {@code archived}
     * @return all of them as they are now
     * @throws NoSuchElementException when there is no such run
     * @throws RuntimeException saying what is wrong with the change, or with the file
     */
    JsonObject annotate(String name, JsonObject change);

    /**
     * Deletes the folder of a run.
     *
     * @return an object with the {@code bytes} of its files
     * @throws NoSuchElementException when there is no such run
     * @throws RuntimeException saying why it cannot be deleted: it goes on, or is kept
     */
    JsonObject delete(String name);
  }

  /** Finds the servers of the runs' pages. */
  public interface Pages {

    /**
     * Returns the address of the server of a run's page. It fails with a {@link
     * NoSuchElementException} when there is no such run.
     *
     * @param fresh true when a browser loads the page: a run that has changed is read again. False
     *     for what a loaded page asks for
     * @param gone completes when nobody waits for the answer
     * @return the address; any thread may complete it
     */
    Future<String> find(String name, boolean fresh, Future<Void> gone);
  }

  /**
   * Creates the verticle.
   *
   * @param where address and port
   * @param basePath path below which a proxy asks, such as {@code /vertigrad}; empty for none. The
   *     paths without it are answered too, for proxies that remove it
   * @param token who has it may change and delete runs
   */
  public RunsVerticle(
      DashboardConfig where, String basePath, String token, Source source, Pages pages) {
    this.where = where;
    this.basePath = basePath;
    this.token = new AccessToken(token);
    this.source = source;
    this.pages = pages;
  }

  @Override
  public Future<?> start() {
    readers = vertx.createSharedWorkerExecutor("vertigrad-runs", READERS);
    proxy = new PageProxy(vertx);
    BodyHandler bodies = BodyHandler.create(false).setBodyLimit(BODY_BYTES);
    Router router = PageFiles.guarded(vertx, where);
    router.get("/runs").handler(this::list);
    router.get("/runs.csv").handler(this::csv);
    router.get("/curves").handler(this::curves);
    router.get("/run").handler(this::lead);
    router.get("/run/*").handler(this::page);
    router.post("/run/*").handler(bodies).handler(this::page);
    router
        .post("/notes")
        .handler(bodies)
        .handler(request -> change(request, "note", source::annotate));
    router
        .post("/delete")
        .handler(bodies)
        .handler(request -> change(request, "", (name, nothing) -> source.delete(name)));
    router.get().handler(PageFiles.startingAt("runs.html"));
    return new PageServer(vertx, where)
        .start(below(router))
        .onSuccess(address -> url = basePath.isEmpty() ? address : address + path() + "/");
  }

  /** Returns the base path without the slash that it begins with. */
  private String path() {
    return basePath.substring(1);
  }

  private Router below(Router router) {
    if (basePath.isEmpty()) {
      return router;
    }
    Router root = Router.router(vertx);
    String last = path().substring(path().lastIndexOf('/') + 1);
    root.get(basePath)
        .handler(
            request -> {
              if (request.normalizedPath().endsWith("/")) {
                request.next();
              } else {
                redirect(request, last + "/");
              }
            });
    root.route(basePath + "/*").subRouter(router);
    root.route("/*").subRouter(router);
    return root;
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

  private void csv(RoutingContext request) {
    boolean archived = Boolean.parseBoolean(request.queryParams().get("archived"));
    vertx
        .executeBlocking(() -> source.csv(archived), false)
        .onSuccess(
            lines ->
                request
                    .response()
                    .putHeader("Content-Type", "text/csv; charset=utf-8; header=present")
                    .putHeader("Content-Disposition", "attachment; filename=\"runs.csv\"")
                    .end(lines))
        .onFailure(why -> refuse(request, why));
  }

  /** Leads to the page of a run, for those who know its name only. */
  private void lead(RoutingContext request) {
    String name = request.queryParams().get("name");
    if (name == null) {
      refuse(request, WRONG, "expected the name of a run, as in /run?name=NAME");
      return;
    }
    String encoded = URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    redirect(request, "run/" + encoded + "/");
  }

  /** Sends the browser to a path beside the one that it asked for, whatever a proxy calls it. */
  private static void redirect(RoutingContext request, String path) {
    request.response().setStatusCode(FOUND).putHeader("Location", path).end();
  }

  /** Answers as the page of a run does, which may have to be opened before. */
  private void page(RoutingContext request) {
    String below = request.normalizedPath();
    if (below.startsWith(basePath + "/")) {
      below = below.substring(basePath.length());
    }
    Matcher asked = PAGE.matcher(below);
    if (!asked.matches()) {
      refuse(request, UNKNOWN, "expected the name of a run, as in /run/NAME/");
      return;
    }
    if (isUnseen(request)) {
      refuse(request, FORBIDDEN, "only pages of this server may ask");
      return;
    }
    String path = asked.group(2);
    if (path == null) {
      // Without the dot, https:other.example would lead to another site.
      redirect(request, "./" + asked.group(1) + "/");
      return;
    }
    // A decoder of forms takes + for a blank, which it is not in a path.
    String name = URLDecoder.decode(asked.group(1).replace("+", "%2B"), StandardCharsets.UTF_8);
    String query = request.request().query();
    String wanted = query == null ? path : path + "?" + query;
    Future<Void> gone = gone(request);
    // A replay has a Vert.x and threads of its own; a request belongs to the thread of this
    // verticle.
    pages
        .find(name, path.equals("/"), gone)
        .onComplete(
            page -> context.runOnContext(here -> pass(request, name, page, wanted, gone)),
            why -> context.runOnContext(here -> refuse(request, why)));
  }

  private void pass(
      RoutingContext request, String name, String page, String wanted, Future<Void> gone) {
    proxy
        .pass(request, page, wanted, gone)
        .onFailure(why -> refuse(request, UNREACHED, unreached(name, page, why)));
  }

  private static String unreached(String name, String page, Throwable why) {
    return "the page of %s does not answer at %s: %s; load this page again"
        .formatted(name, page, why.getMessage());
  }

  /**
   * Returns whether another site's page asks without the reader's seeing it: it could start a
   * replay. A link that the reader follows is welcome.
   */
  private static boolean isUnseen(RoutingContext request) {
    String site = request.request().getHeader("Sec-Fetch-Site");
    boolean followed =
        "navigate".equals(request.request().getHeader("Sec-Fetch-Mode"))
            && "document".equals(request.request().getHeader("Sec-Fetch-Dest"));
    return site != null && !OWN_SITE.contains(site) && !followed;
  }

  /**
   * Changes a run for those who have the token.
   *
   * @param example a key that a change may have, for the reason of a refusal; empty for none
   */
  private void change(
      RoutingContext request, String example, BiFunction<String, JsonObject, JsonObject> what) {
    JsonObject change = PageFiles.body(request);
    if (change == null || !(change.getValue("run") instanceof String name)) {
      String further = example.isEmpty() ? "" : ", \"" + example + "\": \"...\"";
      refuse(
          request,
          WRONG,
          "expected a body like {\"run\": \"NAME\", \"token\": \"...\"" + further + "}");
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
        .executeBlocking(() -> what.apply(name, change), false)
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
