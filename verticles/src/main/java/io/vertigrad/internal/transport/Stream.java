package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertx.core.Completable;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.net.NetSocket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sender's end of a stream to one address: any number of requests under way, answers by number.
 *
 * <p>Any thread may send and encodes what it sends. A stream on which nothing at all comes for ten
 * seconds while an answer is due, not even to a ping, is closed, because TCP itself would notice a
 * vanished machine only after minutes.
 */
final class Stream implements Transport {

  private static final Logger LOG = LoggerFactory.getLogger(Stream.class);
  private static final long SECOND = 1_000_000_000;
  private static final long PING_NANOS = 5 * SECOND;
  private static final long SILENT_NANOS = 10 * SECOND;
  private static final long IDLE_NANOS = 300 * SECOND;

  /** Of this process, because a peer that is gone breaks the streams to all of its addresses. */
  private static final PeerWarnings BROKEN = new PeerWarnings(LOG::info);

  private static final long MILLI = 1_000_000;

  private record Due(Completable<Frame> answered, long deadlineNanos) {}

  private final String address;
  private final NetSocket socket;
  private final FrameChannel line;
  private final Map<Long, Due> due = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private volatile long heardNanos = System.nanoTime();
  private volatile boolean closed;

  /**
   * Says which address it is for.
   *
   * @param whenClosed is called once, before requests under way fail
   */
  Stream(String address, NetSocket socket, Consumer<Stream> whenClosed) {
    this.address = address;
    this.socket = socket;
    line = new FrameChannel(socket);
    line.listen(this::hear, this::refuse, () -> heardNanos = System.nanoTime(), true);
    socket.exceptionHandler(
        broken ->
            BROKEN.warn(
                String.valueOf(socket.remoteAddress().hostAddress()),
                "stream to %s at %s broke: %s".formatted(address, socket.remoteAddress(), broken),
                System.nanoTime()));
    socket.closeHandler(
        end -> {
          closed = true;
          whenClosed.accept(this);
          failAll();
        });
    line.write(Kind.OPEN, StreamMessage.FORMAT, address);
  }

  /** Where its frames go. */
  String address() {
    return address;
  }

  @Override
  public void request(String to, Frame frame, long limitMillis, Completable<Frame> answered) {
    long now = System.nanoTime();
    if (due.isEmpty()) {
      heardNanos = now;
    }
    long number = numbers.incrementAndGet();
    due.put(number, new Due(answered, now + limitMillis * MILLI));
    if (closed) {
      failAll();
    } else {
      line.write(Kind.REQUEST, number, frame);
    }
  }

  /** Fails what is overdue; looks whether anybody is still there. */
  void sweep(long now) {
    due.forEach(
        (number, request) -> {
          if (now - request.deadlineNanos() >= 0) {
            fail(number, ReplyFailure.TIMEOUT, "no answer from " + address + " in time");
          }
        });
    long silence = now - heardNanos;
    if (due.isEmpty() ? silence > IDLE_NANOS : silence > SILENT_NANOS) {
      socket.close();
    } else if (!due.isEmpty() && silence > PING_NANOS) {
      line.write(Kind.PING);
    }
  }

  private void hear(StreamMessage message) {
    switch (message.kind()) {
      case ANSWER -> answered(message);
      case FAILURE -> fail(message.number(), ReplyFailure.RECIPIENT_FAILURE, message.text());
      case PONG -> {}
      default -> refuse("%s from a listener, expected %s".formatted(message.kind(), Kind.ANSWER));
    }
  }

  private void answered(StreamMessage message) {
    Due request = due.remove(message.number());
    if (request != null) {
      request.answered().succeed(message.frame());
    }
  }

  private void refuse(String what) {
    LOG.warn("stream to {} closed: found {}", address, what);
    socket.close();
  }

  private void failAll() {
    due.keySet()
        .forEach(
            number ->
                fail(
                    number,
                    ReplyFailure.RECIPIENT_FAILURE,
                    "the connection to " + address + " was closed"));
  }

  private void fail(long number, ReplyFailure how, String why) {
    Due request = due.remove(number);
    if (request != null) {
      request.answered().fail(new ReplyException(how, why));
    }
  }
}
