package io.vertigrad.observability;

import io.vertigrad.http.AccessToken;
import io.vertigrad.http.HttpConnections;
import io.vertigrad.http.OwnOrigin;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.healthchecks.Status;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP port of a process that takes part in a job: {@code /health}, {@code /health/live} and
 * {@code /health/ready} for probes, {@code /metrics} of this process for Prometheus, and {@code
 * POST /drain}, which asks the process to leave the job. It has a Vert.x of its own, so that it
 * answers before the process joins a cluster and while it joins again. Any thread may use it.
 *
 * <p>{@code /drain} needs the token of a file that only the user of this process can read. The file
 * is the body of that request, and is deleted when the port is closed.
 */
public final class MemberPort implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(MemberPort.class);
  private static final String LOOPBACK = "127.0.0.1";
  private static final int ACCEPTED = 202;
  private static final int FORBIDDEN = 403;
  private static final int WRONG_METHOD = 405;
  private static final int FAILED = 500;
  private static final int IDLE_SECONDS = 60;
  private static final long CLOSE_SECONDS = 5;
  private static final long LOOK_MILLIS = 1_000;

  /** Probes and a few scrapers. */
  private static final int MOST_CONNECTIONS = 64;

  private static final int BODY_BYTES = 16 * 1024;

  private final Vertx vertx =
      Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setWorkerPoolSize(1));
  private final BooleanSupplier takesPart;
  private final Runnable drain;
  private final OwnOrigin origin =
      new OwnOrigin(LOOPBACK, List.of(), "the names of loopback", List.of());
  private final HttpConnections connections =
      new HttpConnections(MOST_CONNECTIONS, System::nanoTime);
  private final AccessToken token = AccessToken.fresh();
  private final Path folder;
  private volatile ProcessMeters meters = new ProcessMeters("");
  private volatile Vertx node;
  private volatile Path tokenFile;

  private MemberPort(Path folder, BooleanSupplier takesPart, Runnable drain) {
    this.folder = folder;
    this.takesPart = takesPart;
    this.drain = drain;
  }

  /**
   * Opens the port.
   *
   * @param host address to listen on
   * @param port port to listen on; 0 for any free one
   * @param folder folder in which it writes {@code drain-PORT.json}, which {@code /drain} expects
   * @param takesPart returns whether this process's member takes part in its job now
   * @param drain asks this process to leave its job; called on a thread of its own
   * @return completes when the port is open; fails with the reason that the system gives
   */
  public static Future<MemberPort> open(
      String host, int port, Path folder, BooleanSupplier takesPart, Runnable drain) {
    MemberPort opened = new MemberPort(folder, takesPart, drain);
    return opened
        .listen(host, port)
        .onFailure(refused -> opened.close())
        .compose(server -> opened.announced(host, server.actualPort()))
        .map(opened);
  }

  private Future<Void> announced(String host, int port) {
    String shown = host.contains(":") ? "[" + host + "]" : host;
    LOG.info("health and metrics of this process: http://{}:{}/", shown, port);
    Path file = folder.resolve("drain-%s.json".formatted(port)).toAbsolutePath();
    return vertx
        .executeBlocking(
            () -> {
              writeToken(file);
              tokenFile = file;
              LOG.info("to drain it: curl -d @{} http://{}:{}/drain", file, LOOPBACK, port);
              return null;
            })
        .recover(
            unwritable -> {
              LOG.warn("POST /drain is refused, because its token cannot be kept: {}", unwritable);
              return Future.succeededFuture();
            })
        .mapEmpty();
  }

  /** Writes the token, so that nobody else can read it at any time. */
  private void writeToken(Path file) throws IOException {
    Files.deleteIfExists(file);
    FileAttribute<?>[] own =
        Files.getFileStore(folder.toAbsolutePath()).supportsFileAttributeView("posix")
            ? new FileAttribute<?>[] {
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
            }
            : new FileAttribute<?>[0];
    Files.createFile(file, own);
    Files.writeString(file, new JsonObject().put("token", token.text()).encode() + "\n");
  }

  /**
   * Shows the state of this process's node from now on.
   *
   * @param member the node, a member of the job's cluster
   * @param job the job's name, a tag of all meters
   */
  public synchronized void joined(Vertx member, String job) {
    meters.close();
    ProcessMeters fresh = new ProcessMeters(job);
    fresh.bus(member);
    meters = fresh;
    node = member;
  }

  /** Shows from now on that this process is in no job's cluster, and forgets the node. */
  public synchronized void left() {
    meters.close();
    meters = new ProcessMeters("");
    node = null;
  }

  /** Closes the port; returns after at most five seconds. */
  @Override
  public void close() {
    try {
      vertx.close().await(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (Exception late) {
      LOG.debug("the port is not closed yet", late);
    }
    meters.close();
    try {
      if (tokenFile != null) {
        Files.deleteIfExists(tokenFile);
      }
    } catch (IOException stays) {
      LOG.debug("{} stays", tokenFile, stays);
    }
  }

  private Future<HttpServer> listen(String host, int port) {
    Router router = Router.router(vertx);
    router.route().failureHandler(MemberPort::fail);
    new HealthRoutes(vertx)
        .ready("member", () -> HealthRoutes.status(takesPart.getAsBoolean(), new JsonObject()))
        .ready("cluster", this::cluster)
        .mount(router);
    router.get("/metrics").handler(request -> meters.answer(request));
    router
        .route("/drain")
        .handler(BodyHandler.create(false).setBodyLimit(BODY_BYTES))
        .handler(this::drain);
    HttpServerOptions options =
        HttpConnections.limited(new HttpServerOptions()).setIdleTimeout(IDLE_SECONDS);
    return vertx
        .createHttpServer(options)
        .connectionHandler(connections::add)
        .requestHandler(connections.guarding(router))
        .listen(port, host)
        .onSuccess(open -> vertx.setPeriodic(LOOK_MILLIS, tick -> connections.closeSlow()));
  }

  /** Answers a request that failed, or that is refused: Vert.x would log it as an error. */
  private static void fail(RoutingContext request) {
    if (request.statusCode() >= FAILED) {
      LOG.error("a request for {} failed", request.request().path(), request.failure());
    }
    HttpServerResponse response = request.response();
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(request.statusCode());
      response.end(response.getStatusMessage() + "\n");
    }
  }

  private Status cluster() {
    Vertx member = node;
    return member == null
        ? HealthRoutes.status(false, new JsonObject().put("clustered", false))
        : HealthRoutes.cluster(member);
  }

  private void drain(RoutingContext request) {
    Optional<OwnOrigin.Refusal> refusal = origin.refusal(request.request());
    if (!request.request().method().equals(HttpMethod.POST)) {
      request.response().putHeader("Allow", "POST");
      answer(request, WRONG_METHOD, "only POST drains");
    } else if (!isLoopback(request.request())) {
      answer(request, FORBIDDEN, "only this machine may drain its member: send it to " + LOOPBACK);
    } else if (refusal.isPresent()) {
      answer(request, refusal.get().status(), refusal.get().reason());
    } else if (tokenFile == null) {
      answer(request, FORBIDDEN, "this process could not keep a token: send it SIGTERM");
    } else if (!token.is(tokenOf(request))) {
      answer(
          request,
          FORBIDDEN,
          "expected a body with this process's token: curl -d @DIR/%s, the file in its folder"
              .formatted(tokenFile.getFileName()));
    } else {
      answer(request, ACCEPTED, "this member leaves its job")
          .onComplete(sent -> new Thread(drain, "drain").start());
    }
  }

  private static Object tokenOf(RoutingContext request) {
    try {
      JsonObject body = request.body().asJsonObject();
      return body == null ? null : body.getValue("token");
    } catch (DecodeException | ClassCastException malformed) {
      // JSON that is no object is cast without a look at it.
      return null;
    }
  }

  private static Future<Void> answer(RoutingContext request, int status, String text) {
    return request.response().setStatusCode(status).end(text + "\n");
  }

  private static boolean isLoopback(HttpServerRequest request) {
    try {
      return InetAddress.getByName(request.remoteAddress().hostAddress()).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
