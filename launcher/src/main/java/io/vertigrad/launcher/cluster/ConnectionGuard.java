package io.vertigrad.launcher.cluster;

import io.vertigrad.job.ConnectionProof;
import io.vertigrad.job.JobSecret;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the two ports of a node, of the event bus and of Hazelcast, have in common: the secret that
 * each connection proves, and the connections that have not proved it yet.
 *
 * <p>Those are few: beyond {@value #MOST_UNPROVED} the one that has waited longest is closed. A
 * proof takes milliseconds, so a flood of connections keeps no node of the job out. Any thread.
 */
final class ConnectionGuard {

  /** Connections to a port that may be unproved at a time. */
  static final int MOST_UNPROVED = 64;

  /** How long a connection may take to prove itself. */
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

    /** Closes the connection; on any thread, and without effect where it is closed already. */
    void close();
  }

  /**
   * Guards a port.
   *
   * @param port name of the port, in messages and in what is signed
   */
  ConnectionGuard(String port, JobSecret secret) {
    this.port = port;
    this.codes = new ConnectionProof(secret, port);
  }

  Handshake connecting() {
    return Handshake.connecting(codes);
  }

  Handshake accepting() {
    return Handshake.accepting(codes);
  }

  /** Counts an accepted connection until {@link #remove} and closes it when it takes too long. */
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

  /** Counts a connection no longer: it has proved itself, or it is closed. */
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
        before == 0 ? "" : " (and %d more since the last line)".formatted(before));
  }

  /** Remembers that the node that was connected to has another secret. */
  void refusedBy(SocketAddress peer, String why) {
    refusedBy = "%s at %s: %s".formatted(port, peer, why);
  }

  /** Returns why the last node that this one connected to was not accepted. */
  Optional<String> refusal() {
    return Optional.ofNullable(refusedBy);
  }
}
