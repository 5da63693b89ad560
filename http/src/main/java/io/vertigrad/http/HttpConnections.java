package io.vertigrad.http;

import io.netty.channel.ChannelHandlerContext;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The open connections of a port. So many are in service, and each has a limit of time for the head
 * of its next request, for a request's body, and for reading an answer. Belongs to one event loop.
 *
 * <p>As many again may be open beyond these. Such a connection comes into service with its first
 * request, in the place of the one that has kept the port waiting for the longest time, if that is
 * at least {@value #PATIENCE_SECONDS} s; otherwise the request is to be answered with 503. So
 * connections that send nothing, or send slowly, do not keep others away, and nobody who has sent a
 * request is left without an answer.
 */
public final class HttpConnections {

  /** Time in seconds for each of a request's head, its body, and reading its answer. */
  public static final int PHASE_SECONDS = 60;

  /** Seconds after which the next request of an overloaded port may succeed. */
  public static final String RETRY_SECONDS = "1";

  private static final int PATIENCE_SECONDS = 5;
  private static final int DISCARDING_SECONDS = 5;
  private static final int UNAVAILABLE = 503;
  private static final int SWITCHED = 101;
  private static final String INNER = "io.vertx.core.http.impl";

  private final int most;
  private final LongSupplier nanoTime;
  private final Map<HttpConnection, Open> serving = new LinkedHashMap<>();

  /** Connections that have sent no request yet, or were refused; the oldest is first. */
  private final Map<HttpConnection, Open> beyond = new LinkedHashMap<>();

  /** What a connection is waited for. */
  public enum Phase {
    /** The peer sends the next request's head, or nothing. */
    HEAD(PHASE_SECONDS),
    /** The peer sends a body. */
    BODY(PHASE_SECONDS),
    /** The peer waits for its answer. */
    ANSWER(Integer.MAX_VALUE),
    /** The peer reads its answer. */
    READING(PHASE_SECONDS),
    /** The peer reads an answer of any length, or sends the next request's head. */
    NEXT(5 * PHASE_SECONDS),
    /** The rest of a refused body is dropped, so that the peer can read why. */
    DISCARDING(DISCARDING_SECONDS);

    private final long nanos;

    Phase(int seconds) {
      this.nanos = TimeUnit.SECONDS.toNanos(seconds);
    }
  }

  /**
   * Creates an empty set of connections.
   *
   * @param most number of connections that are in service
   * @param nanoTime the clock of their limits
   * @throws IllegalStateException when this is a module that may not use {@link
   *     HttpServerConnection}, naming the option of Java: only that class closes a connection
   *     without waiting for its peer, and reports the end of a WebSocket
   */
  public HttpConnections(int most, LongSupplier nanoTime) {
    if (!HttpConnection.class.getModule().isExported(INNER, HttpConnections.class.getModule())) {
      throw new IllegalStateException(
          "module io.vertx.core does not export %s: start java with --add-exports io.vertx.core/%s=io.vertigrad.http"
              .formatted(INNER, INNER));
    }
    this.most = most;
    this.nanoTime = nanoTime;
  }

  /**
   * Changes options of a server so that its connections can be limited: one connection is one
   * request at a time, where HTTP/2 has a hundred, and each is known as soon as it is open. With
   * HTTP/2, Vert.x does not report one before its peer has sent something.
   *
   * @param options the options
   * @return the same options
   */
  public static HttpServerOptions limited(HttpServerOptions options) {
    return options.setHttp2ClearTextEnabled(false).setUseAlpn(false);
  }

  /** An open connection. */
  public final class Open {

    private final HttpConnection connection;
    private Phase phase = Phase.HEAD;
    private long sinceNanos;
    private HttpServerRequest watched;
    private Promise<Void> left = Promise.promise();

    private Open(HttpConnection connection) {
      this.connection = connection;
      this.sinceNanos = nanoTime.getAsLong();
      left.complete();
    }

    /**
     * Begins a phase.
     *
     * @param next the phase
     */
    public void enter(Phase next) {
      phase = next;
      sinceNanos = nanoTime.getAsLong();
    }

    /**
     * Ends a request.
     *
     * @param written completes when the answer has left this process
     * @param next phase that begins then
     */
    public void answered(Future<Void> written, Phase next) {
      enter(Phase.READING);
      Promise<Void> leaving = Promise.promise();
      left = leaving;
      written.onComplete(
          done -> {
            enter(next);
            leaving.tryComplete();
          });
    }

    /**
     * Returns when the answer to the last request has left this process, or is dropped.
     *
     * @return completes then
     */
    public Future<Void> left() {
      return left.future();
    }

    /** Finds the phase of a request whose handlers belong to others. */
    private void look() {
      if (watched == null) {
        return;
      }
      Phase found = Phase.BODY;
      if (watched.response().getStatusCode() == SWITCHED) {
        found = Phase.ANSWER;
      } else if (watched.response().ended()) {
        found = Phase.NEXT;
      } else if (watched.isEnded()) {
        found = Phase.ANSWER;
      }
      if (found != phase) {
        enter(found);
      }
    }

    private boolean isLate(long nowNanos) {
      look();
      boolean patient = serving.containsKey(connection);
      long limit = patient ? phase.nanos : Math.min(phase.nanos, Phase.DISCARDING.nanos);
      return phase != Phase.ANSWER && nowNanos - sinceNanos > limit;
    }
  }

  /**
   * Takes a new connection.
   *
   * @param connection the connection
   */
  public void add(HttpConnection connection) {
    Open fresh = new Open(connection);
    if (serving.size() < most) {
      serving.put(connection, fresh);
    } else {
      beyond.put(connection, fresh);
      if (beyond.size() > most) {
        close(beyond.values().iterator().next());
      }
    }
    // Vert.x does not call the handler of a connection that has become a WebSocket.
    channel(connection).channel().closeFuture().addListener(closed -> closed(fresh));
  }

  private void closed(Open open) {
    remove(open);
    open.left.tryComplete();
  }

  private static ChannelHandlerContext channel(HttpConnection connection) {
    return ((HttpServerConnection) connection).channelHandlerContext();
  }

  /**
   * Returns a connection's state.
   *
   * @param connection a connection that was added
   * @return empty if it is being closed
   */
  public Optional<Open> of(HttpConnection connection) {
    return Optional.ofNullable(serving.get(connection))
        .or(() -> Optional.ofNullable(beyond.get(connection)));
  }

  /**
   * Brings the connection of a request into service, if there is a place for it.
   *
   * @param request the request
   * @return why it is to be answered with 503 and closed; empty if it is to be answered as usual,
   *     as requests for {@code /health} are in any case: a full port is no reason to restart a
   *     process
   */
  public Optional<String> refusal(HttpServerRequest request) {
    HttpConnection connection = request.connection();
    Open waiting = beyond.get(connection);
    if (waiting == null) {
      return Optional.empty();
    }
    if (serving.size() >= most) {
      slowest().ifPresent(this::close);
    }
    if (serving.size() < most) {
      beyond.remove(connection);
      serving.put(connection, waiting);
      return Optional.empty();
    }
    return String.valueOf(request.path()).contains("/health")
        ? Optional.empty()
        : Optional.of("%s connections are in use; try again later".formatted(most));
  }

  private Optional<Open> slowest() {
    long before = nanoTime.getAsLong() - TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    serving.values().forEach(Open::look);
    return serving.values().stream()
        .filter(open -> open.phase != Phase.ANSWER && open.sinceNanos - before <= 0)
        .min(Comparator.comparingLong(open -> open.sinceNanos - before));
  }

  /**
   * Returns a handler that answers requests over connections in service, and the others with 503.
   * It follows each request by itself, so handlers need not report phases.
   *
   * @param handler answers a request
   * @return a handler for an HTTP server whose connections are added here
   */
  public Handler<HttpServerRequest> guarding(Handler<HttpServerRequest> handler) {
    return request -> {
      Optional<Open> connection = of(request.connection());
      if (connection.isEmpty()) {
        return;
      }
      Optional<String> refusal = refusal(request);
      connection.get().watched = request;
      connection.get().look();
      if (refusal.isEmpty()) {
        handler.handle(request);
      } else {
        Future<Void> written =
            request
                .response()
                .setStatusCode(UNAVAILABLE)
                .putHeader("Retry-After", RETRY_SECONDS)
                .putHeader("Content-Type", "text/plain")
                .putHeader("Connection", "close")
                .end(refusal.get() + "\n");
        // A connection that is closed before all of a body is there would drop the answer.
        Future.join(written, request.end()).onComplete(done -> request.connection().close());
      }
    };
  }

  /** Closes connections whose time is over. Call it once a second. */
  public void closeSlow() {
    long nowNanos = nanoTime.getAsLong();
    List<Open> all = new ArrayList<>(serving.values());
    all.addAll(beyond.values());
    all.stream().filter(open -> open.isLate(nowNanos)).forEach(this::close);
  }

  /** Closes all connections at once. */
  public void closeAll() {
    List<Open> all = new ArrayList<>(serving.values());
    all.addAll(beyond.values());
    all.forEach(this::close);
  }

  private void remove(Open open) {
    serving.remove(open.connection, open);
    beyond.remove(open.connection, open);
  }

  /** Closes a connection at once: {@code close()} would first wait until its peer has read all. */
  private void close(Open open) {
    remove(open);
    channel(open.connection).close();
  }
}
