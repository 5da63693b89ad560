package io.vertigrad.serving.internal;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.impl.HttpServerConnection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The open connections of a port. At most {@value #MOST} are open, and each has a limit of time for
 * the head of its next request, for a request's body, and for reading an answer. Belongs to one
 * event loop.
 *
 * <p>When a further one is opened, the one that has kept the port waiting for the longest time is
 * closed. So connections that send nothing, or send slowly, do not keep others away.
 */
final class HttpConnections {

  static final int MOST = 256;

  /** Time for each of a request's head, its body, and reading its answer. */
  static final int PHASE_SECONDS = 60;

  private static final int DISCARDING_SECONDS = 5;

  private final LongSupplier nanoTime;
  private final Map<HttpConnection, Open> open = new HashMap<>();

  /** What a connection is waited for. */
  enum Phase {
    /** The peer sends the next request's head, or nothing. */
    HEAD(PHASE_SECONDS),
    /** The peer sends a body. */
    BODY(PHASE_SECONDS),
    /** The peer waits for its answer. */
    ANSWER(Integer.MAX_VALUE),
    /** The peer reads its answer. */
    READING(PHASE_SECONDS),
    /** The rest of a refused body is dropped, so that the peer can read why. */
    DISCARDING(DISCARDING_SECONDS);

    private final long nanos;

    Phase(int seconds) {
      this.nanos = TimeUnit.SECONDS.toNanos(seconds);
    }
  }

  /**
   * Creates an empty set of connections; {@code nanoTime} is the clock of their limits.
   *
   * @throws IllegalStateException when this is a module that may not use {@link
   *     HttpServerConnection}, naming the option of Java
   */
  HttpConnections(LongSupplier nanoTime) {
    Module vertx = HttpConnection.class.getModule();
    String inner = "io.vertx.core.http.impl";
    if (!vertx.isExported(inner, HttpConnections.class.getModule())) {
      throw new IllegalStateException(
          "module io.vertx.core does not export %s: start java with --add-exports io.vertx.core/%s=io.vertigrad.serving"
              .formatted(inner, inner));
    }
    this.nanoTime = nanoTime;
  }

  /** An open connection. */
  final class Open {

    private final HttpConnection connection;
    private Phase phase = Phase.HEAD;
    private long sinceNanos;
    private Promise<Void> left = Promise.promise();

    private Open(HttpConnection connection) {
      this.connection = connection;
      this.sinceNanos = nanoTime.getAsLong();
      left.complete();
    }

    /** Begins a phase. */
    void enter(Phase next) {
      phase = next;
      sinceNanos = nanoTime.getAsLong();
    }

    /**
     * Ends a request.
     *
     * @param written completes when the answer has left this process
     * @param next phase that begins then
     */
    void answered(Future<Void> written, Phase next) {
      enter(Phase.READING);
      Promise<Void> leaving = Promise.promise();
      left = leaving;
      written.onComplete(
          done -> {
            enter(next);
            leaving.tryComplete();
          });
    }

    /** Completes when the answer to the last request has left this process, or is dropped. */
    Future<Void> left() {
      return left.future();
    }
  }

  /** Takes a new connection. */
  void add(HttpConnection connection) {
    if (open.size() >= MOST) {
      Optional<Open> slowest =
          open.values().stream()
              .filter(other -> other.phase != Phase.ANSWER)
              .min(Comparator.comparingLong(other -> other.sinceNanos));
      if (slowest.isEmpty()) {
        connection.close();
        return;
      }
      close(slowest.get());
    }
    Open fresh = new Open(connection);
    open.put(connection, fresh);
    connection.closeHandler(
        closed -> {
          open.remove(connection, fresh);
          fresh.left.tryComplete();
        });
  }

  /** Returns a connection's state; empty if it is being closed. */
  Optional<Open> of(HttpConnection connection) {
    return Optional.ofNullable(open.get(connection));
  }

  /** Closes connections whose time is over. */
  void closeSlow() {
    long nowNanos = nanoTime.getAsLong();
    List<Open> slow = new ArrayList<>();
    for (Open each : open.values()) {
      if (nowNanos - each.sinceNanos > each.phase.nanos) {
        slow.add(each);
      }
    }
    slow.forEach(this::close);
  }

  /** Closes all connections at once. */
  void closeAll() {
    List.copyOf(open.values()).forEach(this::close);
  }

  /** Closes a connection at once: {@code close()} would first wait until its peer has read all. */
  private void close(Open each) {
    open.remove(each.connection, each);
    ((HttpServerConnection) each.connection).channelHandlerContext().close();
  }
}
