package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.net.NetSocket;
import java.util.Optional;
import java.util.function.Function;

/**
 * The listener's end of a stream: receives frames and sends answers back in the order in which they
 * are ready. Runs on the listener's event loop.
 */
final class StreamSession {

  /**
   * Most bytes that wait in a socket's write queue: answers that the sender does not read, or
   * requests that cannot be sent yet.
   */
  static final int MOST_QUEUED_BYTES = 16 << 20;

  private final NetSocket socket;
  private final FrameChannel channel;
  private final String address;
  private final Function<Frame, Future<Frame>> handler;
  private final PeerWarnings warnings;
  private final StreamProof proof;
  private final byte[] nonce = RandomBytes.of(StreamProof.NONCE_BYTES);
  private byte[] senderNonce;
  private StreamMessageReader reader;
  private boolean opened;
  private boolean paused;
  private long deliveredAtLastCheck;
  private int checksWithoutProgress;
  private int checksWithoutProof;

  private StreamSession(
      NetSocket socket,
      String address,
      Function<Frame, Future<Frame>> handler,
      JobSecret secret,
      Optional<SharedMemory> sharing,
      PeerWarnings warnings) {
    this.proof = new StreamProof(secret, address);
    this.socket = socket;
    this.channel =
        new FrameChannel(
            socket, sharing, secret, "to %s from %s".formatted(address, socket.remoteAddress()));
    this.address = address;
    this.handler = handler;
    this.warnings = warnings;
  }

  /** Serves a new connection until it closes. */
  static StreamSession serve(
      NetSocket socket,
      String address,
      Function<Frame, Future<Frame>> handler,
      boolean lends,
      JobSecret secret,
      Optional<SharedMemory> sharing,
      PeerWarnings warnings) {
    StreamSession session = new StreamSession(socket, address, handler, secret, sharing, warnings);
    socket.setWriteQueueMaxSize(MOST_QUEUED_BYTES);
    socket.exceptionHandler(broken -> session.warn("broke: " + broken));
    session.reader = session.channel.listen(session::onMessage, session::refuse, () -> {}, lends);
    session.reader.expect(Kind.OPEN);
    return session;
  }

  /** Releases what the connection used; called after it has ended. */
  void closed() {
    channel.close();
  }

  /** Returns true once the sender has proved that it knows the secret. */
  boolean isOpened() {
    return opened;
  }

  /** Closes the connection. */
  void end() {
    socket.close();
  }

  /**
   * Closes a connection whose sender has not proved that it knows the secret in time; called once a
   * second.
   *
   * @param maxChecks number of calls that the sender has for its proof
   */
  void closeIfUnproved(int maxChecks) {
    checksWithoutProof++;
    if (checksWithoutProof > maxChecks && !opened) {
      socket.close();
    }
  }

  /**
   * Closes the connection when a message that has begun does not arrive in time; called once a
   * second. It counts calls and not time, so that a pause of this process does not count against
   * the sender.
   *
   * @param maxChecks number of calls during which one message may arrive
   */
  void closeIfStalled(int maxChecks) {
    channel.checkBell();
    boolean waits = reader.isInside() && !paused && reader.delivered() == deliveredAtLastCheck;
    deliveredAtLastCheck = reader.delivered();
    checksWithoutProgress = waits ? checksWithoutProgress + 1 : 0;
    if (checksWithoutProgress > maxChecks) {
      refuse("a message that was begun and not complete after %s s".formatted(maxChecks));
    }
  }

  private void onMessage(StreamMessage message) {
    if (!opened) {
      open(message);
      return;
    }
    switch (message.kind()) {
      case PING -> channel.write(Kind.PONG);
      case REQUEST -> serve(message);
      default -> refuse("%s from a sender, expected %s".formatted(message.kind(), Kind.REQUEST));
    }
  }

  private void open(StreamMessage message) {
    if (message.kind() == Kind.PROOF) {
      verifyProof(message);
    } else if (message.number() != StreamMessage.FORMAT) {
      refuse("a stream of another format; do all nodes run the same version?");
    } else if (!StreamProof.address(message).equals(address)) {
      // Another listener had this port before; the sender asks for the address again.
      socket.close();
    } else {
      senderNonce = StreamProof.nonce(message);
      reader.expect(Kind.PROOF);
      channel.write(Kind.CHALLENGE, 0, proof.challenge(senderNonce, nonce));
    }
  }

  private void verifyProof(StreamMessage message) {
    if (proof.isSender(senderNonce, nonce, message)) {
      opened = true;
      reader.expect(null);
    } else {
      refuse("a sender with another secret, or none (cluster.secretFile)");
    }
  }

  private void serve(StreamMessage request) {
    Frame frame = request.frame();
    if (frame == null) {
      refuse("a request without a frame");
      return;
    }
    // The answer to a peer's partition only frees room in the sender's window, so it need not wake
    // the sender at once.
    boolean urgent = !(frame instanceof PeerPartition);
    handler
        .apply(frame)
        .onComplete((answer, defect) -> reply(request.number(), answer, defect, urgent));
  }

  /** Sends an answer. While the write queue is full, nothing more is read from this sender. */
  private void reply(long number, Frame answer, Throwable defect, boolean urgent) {
    if (defect == null) {
      Future<Void> written = channel.write(Kind.ANSWER, number, answer, urgent || answer != null);
      if (answer instanceof ParameterPartition parameters) {
        written.onComplete(end -> SharedTensor.giveBack(parameters.parameters()));
      }
    } else {
      channel.writeInOrder(Kind.FAILURE, number, String.valueOf(defect.getMessage()));
    }
    if (socket.writeQueueFull()) {
      paused = true;
      channel.pause();
      socket.drainHandler(
          drained -> {
            paused = false;
            channel.resume();
          });
    }
  }

  private void refuse(String what) {
    warn("closed: found " + what);
    socket.close();
  }

  private void warn(String what) {
    warnings.warn(
        String.valueOf(socket.remoteAddress().hostAddress()),
        "stream %s %s".formatted(this, what),
        System.nanoTime());
  }

  @Override
  public String toString() {
    return "to %s from %s".formatted(address, socket.remoteAddress());
  }
}
