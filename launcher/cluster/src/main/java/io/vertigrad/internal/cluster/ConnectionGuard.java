package io.vertigrad.internal.cluster;

import io.vertigrad.job.ConnectionProof;
import io.vertigrad.job.JobSecret;
import io.vertx.core.transport.Transport;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Guards one of a node's two ports, the event bus's or Hazelcast's. It holds the secret that each
 * connection must prove and the connections that have not proved it yet.
 *
 * <p>At most {@value #MOST_UNPROVED} connections may be unproved; beyond that, the one that has
 * waited longest is closed. A proof takes milliseconds, so a flood of connections does not keep
 * nodes of the job out. Any thread may use it.
 */
public final class ConnectionGuard {

  /** Most connections to a port that may be unproved at a time. */
  static final int MOST_UNPROVED = 64;

  /** Name of Hazelcast's port. */
  public static final String HAZELCAST = "the port of Hazelcast";

  /** Time that a connection has to prove itself. */
  static final int SECONDS = 10;

  private static final Logger LOG = LoggerFactory.getLogger(ConnectionGuard.class);
  private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final Executor LATE =
      CompletableFuture.delayedExecutor(SECONDS, TimeUnit.SECONDS, Runnable::run);

  private final String port;
  private final ConnectionProof codes;
  private final Deque<Unproved> unproved = new ArrayDeque<>();
  private final AtomicLong nextWarning = new AtomicLong(System.nanoTime());
  private final AtomicLong unreported = new AtomicLong();
  private volatile String refusedBy;

  /** An accepted connection that has not proved the secret yet. */
  interface Unproved {

    /** Closes the connection; on any thread. Does nothing when it is already closed. */
    void close();
  }

  /**
   * Guards a port.
   *
   * @param port name of the port, used in messages and in what is signed
   */
  public ConnectionGuard(String port, JobSecret secret) {
    this.port = port;
    this.codes = new ConnectionProof(secret, port);
  }

  /**
   * Returns a transport of Vert.x whose event bus has this port.
   *
   * @param isNode returns whether an address is the event bus address of a node of the cluster
   * @param preferNative as in the options of Vert.x
   */
  public Transport transport(Predicate<SocketAddress> isNode, boolean preferNative) {
    return new ProvedTransport(this, isNode, preferNative);
  }

  Handshake connecting() {
    return Handshake.connecting(codes);
  }

  Handshake accepting() {
    return Handshake.accepting(codes);
  }

  /**
   * Counts an accepted connection until {@link #remove}, and closes it when its proof takes too
   * long.
   */
  void add(Unproved connection) {
    Unproved oldest = null;
    synchronized (unproved) {
      unproved.addLast(connection);
      if (unproved.size() > MOST_UNPROVED) {
        oldest = unproved.removeFirst();
      }
    }
    if (oldest != null) {
      oldest.close();
    }
    LATE.execute(
        () -> {
          if (remove(connection)) {
            connection.close();
          }
        });
  }

  /** Stops counting a connection, because it has proved itself or is closed. */
  boolean remove(Unproved connection) {
    synchronized (unproved) {
      return unproved.remove(connection);
    }
  }

  int unproved() {
    synchronized (unproved) {
      return unproved.size();
    }
  }

  /** Logs that a connection to this port was refused, at most once a minute. */
  void refused(SocketAddress peer, String why) {
    long now = System.nanoTime();
    long next = nextWarning.get();
    if (now - next < 0 || !nextWarning.compareAndSet(next, now + MINUTE_NANOS)) {
      unreported.incrementAndGet();
      return;
    }
    long before = unreported.getAndSet(0);
    LOG.warn(
        "a connection to {} from {} is refused: {}{}",
        port,
        peer,
        why,
        before == 0 ? "" : " (and %s more since the last line)".formatted(before));
  }

  /** Records that the node this one connected to has another secret. */
  void refusedBy(SocketAddress peer, String why) {
    refusedBy = "%s at %s: %s".formatted(port, peer, why);
  }

  /** Returns why the connection to another node was refused last; empty when none was refused. */
  public Optional<String> refusal() {
    return Optional.ofNullable(refusedBy);
  }
}
