package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertx.core.Future;
import io.vertx.core.net.NetSocket;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The listener's end of a stream: frames to the listener, its answers back in whatever order they
 * are ready. On the listener's event loop.
 */
final class StreamSession {

  private static final Logger LOG = LoggerFactory.getLogger(StreamSession.class);
  private static final int MOST_QUEUED_BYTES = 16 << 20;

  private final NetSocket socket;
  private final FrameChannel line;
  private final String address;
  private final Function<Frame, Future<Frame>> answers;
  private boolean opened;

  private StreamSession(NetSocket socket, String address, Function<Frame, Future<Frame>> answers) {
    this.socket = socket;
    this.line = new FrameChannel(socket);
    this.address = address;
    this.answers = answers;
  }

  /** Serves a new connection until it closes. */
  static StreamSession serve(
      NetSocket socket, String address, Function<Frame, Future<Frame>> answers, boolean lends) {
    StreamSession session = new StreamSession(socket, address, answers);
    socket.setWriteQueueMaxSize(MOST_QUEUED_BYTES);
    socket.exceptionHandler(broken -> LOG.debug("stream {}: {}", session, broken.toString()));
    session.line.listen(session::hear, session::refuse, () -> {}, lends);
    return session;
  }

  /** Ends a connection that has not said what it is for. */
  void expectOpened() {
    if (!opened) {
      socket.close();
    }
  }

  private void hear(StreamMessage message) {
    if (!opened) {
      open(message);
      return;
    }
    switch (message.kind()) {
      case PING -> line.write(Kind.PONG);
      case REQUEST -> serve(message);
      default -> refuse("%s from a sender, expected %s".formatted(message.kind(), Kind.REQUEST));
    }
  }

  private void open(StreamMessage message) {
    if (message.kind() != Kind.OPEN || message.number() != StreamMessage.FORMAT) {
      refuse("a stream of another format; do all nodes run the same version?");
    } else if (!message.text().equals(address)) {
      // Whoever had this port before is gone; the sender asks for the address again.
      socket.close();
    } else {
      opened = true;
    }
  }

  private void serve(StreamMessage request) {
    Frame frame = request.frame();
    if (frame == null) {
      refuse("a request without a frame");
      return;
    }
    answers.apply(frame).onComplete((answer, defect) -> reply(request.number(), answer, defect));
  }

  /** A sender that takes no answers is not listened to either. */
  private void reply(long number, Frame answer, Throwable defect) {
    if (defect == null) {
      line.write(Kind.ANSWER, number, answer);
    } else {
      line.write(Kind.FAILURE, number, String.valueOf(defect.getMessage()));
    }
    if (socket.writeQueueFull()) {
      socket.pause();
      socket.drainHandler(drained -> socket.resume());
    }
  }

  private void refuse(String what) {
    LOG.warn("stream {} closed: found {}", this, what);
    socket.close();
  }

  @Override
  public String toString() {
    return "to %s from %s".formatted(address, socket.remoteAddress());
  }
}
