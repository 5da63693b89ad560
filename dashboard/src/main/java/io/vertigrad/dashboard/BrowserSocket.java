package io.vertigrad.dashboard;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.HashSet;
import java.util.Set;

/** Tracks one browser's socket: its unsent bytes and the rate of its requests; single-threaded. */
final class BrowserSocket {

  /** Most unsent bytes, unless they are a single message. */
  static final int PENDING_BYTES = 1 << 20;

  static final int BURST = 40;
  private static final int MESSAGES_PER_SECOND = 10;
  private static final int ANSWER_BURST = 20;
  private static final int SNAPSHOT_BURST = 3;

  private final SockJSSocket socket;
  private final String host;
  private final Set<String> topics = new HashSet<>();
  private final Allowance messages = new Allowance(BURST, MESSAGES_PER_SECOND);
  private final Allowance answers = new Allowance(ANSWER_BURST, 1);
  private final Allowance snapshots = new Allowance(SNAPSHOT_BURST, 1);
  private int awaitedAnswers;
  private long pendingBytes;
  private long sentDelta;
  private long receivedNanos;

  BrowserSocket(SockJSSocket socket, long nowNanos) {
    this.socket = socket;
    SocketAddress remote = socket.remoteAddress();
    host = remote == null ? "unknown" : String.valueOf(remote.hostAddress());
    receivedNanos = nowNanos;
  }

  /** Returns the remote address without its port. */
  String host() {
    return host;
  }

  /** Returns the addresses that the browser listens to. */
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

  /**
   * Counts a message from the browser; returns true for {@value #BURST} at once, then for ten a
   * second.
   */
  boolean mayAsk(long nowNanos) {
    receivedNanos = nowNanos;
    return messages.take(nowNanos, 1);
  }

  /**
   * Counts a message that would be handled; returns true for twenty at once, then for one a second.
   * A browser that goes on sending faster gets no answer until it has been quiet for a second.
   */
  boolean mayBeAnswered(long nowNanos) {
    boolean answered = answers.take(nowNanos, 1);
    if (!answered) {
      answers.empty();
    }
    return answered;
  }

  /** Counts a snapshot for the browser; returns true for three at once, then for one a second. */
  boolean mayHaveSnapshot(long nowNanos) {
    return snapshots.take(nowNanos, 1);
  }

  long silentNanos(long nowNanos) {
    return nowNanos - receivedNanos;
  }

  long pendingBytes() {
    return pendingBytes;
  }

  boolean hasRoomFor(int length) {
    return pendingBytes == 0 || pendingBytes + length <= PENDING_BYTES;
  }

  /** Writes a message; completes when it has left this process. Call {@link #written} then. */
  Future<Void> write(Buffer message) {
    pendingBytes += message.length();
    return socket.write(message);
  }

  /** Records a written message; {@code number} is that of the delta, 0 for any other message. */
  void written(int length, long number) {
    pendingBytes -= length;
    sentDelta = Math.max(sentDelta, number);
  }

  /** Records that the browser listens to the job from now on and will be sent later deltas. */
  void listensAfter(long number) {
    sentDelta = Math.max(sentDelta, number);
  }

  /** Returns whether the browser, which listens to the job, has not been sent this delta yet. */
  boolean lacks(long number) {
    return sentDelta < number;
  }

  void close() {
    socket.close();
  }
}
