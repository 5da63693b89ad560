package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.net.NetSocket;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sender's end of a stream to one address: any number of requests at a time, with answers
 * matched by number.
 *
 * <p>Any thread may send, and encodes what it sends. Answers are passed on by the event loop, or by
 * a thread that has {@linkplain AnswerReceiver taken over}. A stream is closed when an answer is
 * due and nothing arrives for ten seconds, not even the answer to a ping: TCP itself would notice a
 * vanished machine only after minutes.
 */
final class Stream implements Transport {

  private static final Logger LOG = LoggerFactory.getLogger(Stream.class);
  private static final long SECOND = 1_000_000_000;
  private static final long PING_NANOS = 5 * SECOND;
  private static final long SILENCE_LIMIT_NANOS = 10 * SECOND;
  private static final long IDLE_NANOS = 300 * SECOND;

  /**
   * Shared by all streams of this process, because a lost peer breaks the streams to all of its
   * addresses.
   */
  private static final PeerWarnings BROKEN_WARNINGS = new PeerWarnings(LOG::info);

  private static final PeerWarnings REFUSED_WARNINGS = new PeerWarnings(LOG::warn);

  private static final PeerWarnings UNSHARED_WARNINGS = new PeerWarnings(LOG::error);

  private static final long MILLI = 1_000_000;

  private record PendingRequest(Completable<Frame> answered, long deadlineNanos) {}

  private final String address;
  private final NetSocket socket;
  private final FrameChannel channel;
  private final StreamMessageReader reader;
  private final StreamProof proof;
  private final TransportKind kind;
  private final byte[] nonce = RandomBytes.of(StreamProof.NONCE_BYTES);
  private final Promise<Transport> opened = Promise.promise();
  private final Map<Long, PendingRequest> pending = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private volatile long lastReceivedNanos = System.nanoTime();
  private volatile boolean closed;

  /**
   * Creates a stream and sends the opening message, which names its address.
   *
   * @param secret secret of the address's job
   * @param kind whether payloads may, or must, go through shared memory
   * @param sharing the shared memory of this process; empty if it shares none
   * @param whenClosed called once, before pending requests fail
   */
  Stream(
      String address,
      JobSecret secret,
      NetSocket socket,
      TransportKind kind,
      Optional<SharedMemory> sharing,
      Consumer<Stream> whenClosed) {
    this.kind = kind;
    this.address = address;
    this.socket = socket;
    // The senders' windows limit what is unanswered. A queue limit of a frame or less would stop
    // the channel at every frame and start it again when the frame has been written.
    socket.setWriteQueueMaxSize(StreamSession.MOST_QUEUED_BYTES);
    proof = new StreamProof(secret, address);
    channel = new FrameChannel(socket, sharing, secret, "to " + address);
    reader =
        channel.listen(
            this::onMessage, this::refuse, () -> lastReceivedNanos = System.nanoTime(), true);
    reader.expect(Kind.CHALLENGE);
    socket.exceptionHandler(
        broken ->
            BROKEN_WARNINGS.warn(
                String.valueOf(socket.remoteAddress().hostAddress()),
                "stream to %s at %s broke: %s".formatted(address, socket.remoteAddress(), broken),
                System.nanoTime()));
    socket.closeHandler(
        end -> {
          closed = true;
          channel.close();
          whenClosed.accept(this);
          opened.tryFail(
              new ReplyException(
                  ReplyFailure.RECIPIENT_FAILURE,
                  "the connection to " + address + " was closed before it was opened"));
          failAll();
        });
    channel.write(Kind.OPEN, StreamMessage.FORMAT, proof.opening(nonce));
  }

  /** Completes when the listener has proved that it knows the secret; requests may then be sent. */
  Future<Transport> opened() {
    return opened.future();
  }

  /** Returns the address that its frames go to. */
  String address() {
    return address;
  }

  /** Closes the connection; pending requests fail. */
  void close() {
    socket.close();
  }

  boolean isClosed() {
    return closed;
  }

  /** Returns whether there are rings, and both ends use one loopback interface. */
  boolean isLocal() {
    return channel.isLocal();
  }

  /** See {@link RingConnection#takeOver}. */
  boolean takeOver(int port) {
    return channel.rings().takeOver(port);
  }

  /**
   * Receives what has come through shared memory, on the thread that has taken over.
   *
   * @return whether there was anything
   */
  boolean receiveHere() {
    return channel.receiveHere();
  }

  /** See {@link RingConnection#handBack}. */
  void handBack() {
    channel.rings().handBack();
  }

  @Override
  public void request(String to, Frame frame, long limitMillis, Completable<Frame> answered) {
    long now = System.nanoTime();
    if (pending.isEmpty()) {
      lastReceivedNanos = now;
    }
    long number = numbers.incrementAndGet();
    pending.put(number, new PendingRequest(answered, now + limitMillis * MILLI));
    if (closed) {
      failAll();
    } else {
      channel.write(Kind.REQUEST, number, frame, true);
    }
  }

  /** Fails overdue requests; pings a silent listener, and closes the stream if it stays silent. */
  void sweep(long now) {
    pending.forEach(
        (number, request) -> {
          if (now - request.deadlineNanos() >= 0) {
            fail(number, ReplyFailure.TIMEOUT, "no answer from " + address + " in time");
          }
        });
    if (!closed) {
      channel.run(channel::checkBell);
    }
    long silence = now - lastReceivedNanos;
    if (pending.isEmpty() ? silence > IDLE_NANOS : silence > SILENCE_LIMIT_NANOS) {
      socket.close();
    } else if (!pending.isEmpty() && silence > PING_NANOS) {
      channel.write(Kind.PING);
    }
  }

  private void onMessage(StreamMessage message) {
    if (!opened.future().isComplete()) {
      open(message);
      return;
    }
    switch (message.kind()) {
      case ANSWER -> answered(message);
      case FAILURE -> {
        channel.shared().release(message.number());
        fail(message.number(), ReplyFailure.RECIPIENT_FAILURE, message.text());
      }
      case PONG -> {}
      default -> refuse("%s from a listener, expected %s".formatted(message.kind(), Kind.ANSWER));
    }
  }

  private void open(StreamMessage challenge) {
    if (proof.isListener(nonce, challenge)) {
      reader.expect(null);
      channel.write(Kind.PROOF, 0, proof.proof(nonce, StreamProof.nonce(challenge)));
      share();
    } else {
      refuse("a listener with another secret, or none (cluster.secretFile)");
    }
  }

  private void share() {
    if (kind.shares()) {
      channel.shared().ask(kind == TransportKind.SHARED);
    }
    if (kind == TransportKind.SHARED) {
      channel
          .shared()
          .established()
          .onSuccess(shared -> opened.tryComplete(this))
          .onFailure(why -> refuseUnshared(why.getMessage()));
    } else {
      opened.tryComplete(this);
    }
  }

  private void refuseUnshared(String why) {
    String what =
        "exchange.transport is shared, but no memory can be shared with %s at %s: %s; set it to auto"
            .formatted(address, socket.remoteAddress(), why);
    if (opened.tryFail(new ReplyException(ReplyFailure.RECIPIENT_FAILURE, what))) {
      UNSHARED_WARNINGS.warn(
          String.valueOf(socket.remoteAddress().hostAddress()), what, System.nanoTime());
    }
    socket.close();
  }

  private void answered(StreamMessage message) {
    channel.shared().release(message.number());
    PendingRequest request = pending.remove(message.number());
    if (request != null) {
      request.answered().succeed(message.frame());
    }
  }

  private void refuse(String what) {
    REFUSED_WARNINGS.warn(
        String.valueOf(socket.remoteAddress().hostAddress()),
        "stream to %s at %s closed: found %s".formatted(address, socket.remoteAddress(), what),
        System.nanoTime());
    socket.close();
  }

  private void failAll() {
    pending
        .keySet()
        .forEach(
            number ->
                fail(
                    number,
                    ReplyFailure.RECIPIENT_FAILURE,
                    "the connection to " + address + " was closed"));
  }

  private void fail(long number, ReplyFailure how, String why) {
    PendingRequest request = pending.remove(number);
    if (request != null) {
      request.answered().fail(new ReplyException(how, why));
    }
  }
}
