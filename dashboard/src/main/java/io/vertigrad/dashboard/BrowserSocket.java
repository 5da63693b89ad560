package io.vertigrad.dashboard;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.HashSet;
import java.util.Set;

/** One browser's socket: what waits to be read by it, and how often it asks; single-threaded. */
final class BrowserSocket {

  /** Most bytes that wait to be read, unless they are a single message. */
  static final int PENDING_BYTES = 1 << 20;

  static final int BURST = 40;
  private static final int MESSAGES_PER_SECOND = 10;
  private static final int SNAPSHOT_BURST = 3;

  private final SockJSSocket socket;
  private final String host;
  private final Set<String> topics = new HashSet<>();
  private final Allowance messages = new Allowance(BURST, MESSAGES_PER_SECOND);
  private final Allowance snapshots = new Allowance(SNAPSHOT_BURST, 1);
  private int awaitedAnswers;
  private long pendingBytes;
  private long sentDelta;
  private long heardNanos;

  BrowserSocket(SockJSSocket socket, long nowNanos) {
    this.socket = socket;
    SocketAddress remote = socket.remoteAddress();
    host = remote == null ? "unknown" : String.valueOf(remote.hostAddress());
    heardNanos = nowNanos;
  }

  /** The remote address without its port. */
  String host() {
    return host;
  }

  /** The addresses it listens to. */
  Set<String> topics() {
    return topics;
  }

  /** Counts a request that will be answered. */
  void awaitAnswer() {
    awaitedAnswers++;
  }

  void answered() {
    awaitedAnswers--;
  }

  int handlers() {
    return topics.size() + awaitedAnswers;
  }

  /** Counts a message from it; true {@value #BURST} times at once, then ten times a second. */
  boolean mayAsk(long nowNanos) {
    heardNanos = nowNanos;
    return messages.take(nowNanos, 1);
  }

  /** Counts a snapshot for it; true three times at once, then once a second. */
  boolean mayHaveSnapshot(long nowNanos) {
    return snapshots.take(nowNanos, 1);
  }

  long silentNanos(long nowNanos) {
    return nowNanos - heardNanos;
  }

  long pendingBytes() {
    return pendingBytes;
  }

  boolean hasRoomFor(int length) {
    return pendingBytes == 0 || pendingBytes + length <= PENDING_BYTES;
  }

  /** Completes when the message left this process; {@link #written} has to be called then. */
  Future<Void> write(Buffer message) {
    pendingBytes += message.length();
    return socket.write(message);
  }

  /** {@code number} of the delta that was sent, 0 for anything else. */
  void written(int length, long number) {
    pendingBytes -= length;
    sentDelta = Math.max(sentDelta, number);
  }

  /** Returns whether it listens to the job and has not been sent this delta yet. */
  boolean lacks(long number) {
    return sentDelta > 0 && sentDelta < number;
  }

  void close() {
    socket.close();
  }
}
