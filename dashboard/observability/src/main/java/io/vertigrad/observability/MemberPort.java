package io.vertigrad.observability;

import io.vertigrad.job.OwnOrigin;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.healthchecks.Status;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.net.InetAddress;
import java.net.UnknownHostException;
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
 */
public final class MemberPort implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(MemberPort.class);
  private static final String LOOPBACK = "127.0.0.1";
  private static final int ACCEPTED = 202;
  private static final int FORBIDDEN = 403;
  private static final int WRONG_METHOD = 405;
  private static final int IDLE_SECONDS = 60;
  private static final long CLOSE_SECONDS = 5;

  private final Vertx vertx =
      Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setWorkerPoolSize(1));
  private final BooleanSupplier takesPart;
  private final Runnable drain;
  private final OwnOrigin origin = new OwnOrigin(LOOPBACK);
  private volatile ProcessMeters meters = new ProcessMeters("");
  private volatile Vertx node;

  private MemberPort(BooleanSupplier takesPart, Runnable drain) {
    this.takesPart = takesPart;
    this.drain = drain;
  }

  /**
   * Opens the port.
   *
   * @param host address to listen on
   * @param port port to listen on; 0 for any free one
   * @param takesPart returns whether this process's member takes part in its job now
   * @param drain asks this process to leave its job; called on a thread of its own
   * @return completes when the port is open; fails with the reason that the system gives
   */
  public static Future<MemberPort> open(
      String host, int port, BooleanSupplier takesPart, Runnable drain) {
    MemberPort opened = new MemberPort(takesPart, drain);
    return opened
        .listen(host, port)
        .onFailure(refused -> opened.close())
        .onSuccess(
            server ->
                LOG.info(
                    "health and metrics of this process: http://{}:{}/",
                    host.contains(":") ? "[" + host + "]" : host,
                    server.actualPort()))
        .map(opened);
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

  /** Closes the port; returns after at most five seconds. */
  @Override
  public void close() {
    try {
      vertx.close().await(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (Exception late) {
      LOG.debug("the port is not closed yet", late);
    }
    meters.close();
  }

  private Future<HttpServer> listen(String host, int port) {
    Router router = Router.router(vertx);
    new HealthRoutes(vertx)
        .ready("member", () -> HealthRoutes.status(takesPart.getAsBoolean(), new JsonObject()))
        .ready("cluster", this::cluster)
        .mount(router);
    router.get("/metrics").handler(request -> meters.answer(request));
    router.route("/drain").handler(this::drain);
    return vertx
        .createHttpServer(new HttpServerOptions().setIdleTimeout(IDLE_SECONDS))
        .requestHandler(router)
        .listen(port, host);
  }

  private Status cluster() {
    Vertx member = node;
    return member == null
        ? HealthRoutes.status(false, new JsonObject().put("clustered", false))
        : HealthRoutes.cluster(member);
  }

  private void drain(RoutingContext request) {
    Optional<String> refusal = origin.refusal(request.request());
    if (!request.request().method().equals(HttpMethod.POST)) {
      request.response().putHeader("Allow", "POST");
      answer(request, WRONG_METHOD, "only POST drains");
    } else if (!isLoopback(request.request())) {
      answer(request, FORBIDDEN, "only this machine may drain its member: send it to " + LOOPBACK);
    } else if (refusal.isPresent()) {
      answer(request, FORBIDDEN, refusal.get());
    } else {
      answer(request, ACCEPTED, "this member leaves its job")
          .onComplete(sent -> new Thread(drain, "drain").start());
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
