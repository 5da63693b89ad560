package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One end of a connection: messages out and in.
 *
 * <p>It writes pooled memory and reads what the channel read, because the buffers of a plain socket
 * would copy each byte once more in either direction. Any thread may write.
 */
final class FrameChannel {

  private static final int SHARED_BODY_BYTES = FrameLimits.HEADER_BYTES + SlotReference.BYTES;

  private final NetSocketInternal socket;
  private final ByteBufAllocator memory;
  private final SharedConnection shared;
  private Consumer<StreamMessage> messages;
  private Consumer<String> fault;

  /**
   * One end of a stream.
   *
   * @param sharing memory of this process, unless it shares none
   * @param secret of the job that the stream belongs to
   * @param name of the stream, for people
   */
  FrameChannel(NetSocket socket, Optional<SharedMemory> sharing, JobSecret secret, String name) {
    this.socket = (NetSocketInternal) socket;
    this.memory = this.socket.channelHandlerContext().alloc();
    this.shared = new SharedConnection(sharing, this, secret, name);
  }

  /** What this end shares with the other one. */
  SharedConnection shared() {
    return shared;
  }

  /**
   * Hands on every message, and returns what puts them together; {@code fault} is told once what
   * cannot be read, and nothing follows.
   *
   * @param lends see {@link StreamMessageReader}
   */
  StreamMessageReader listen(
      Consumer<StreamMessage> messages, Consumer<String> fault, Runnable heard, boolean lends) {
    this.messages = messages;
    this.fault = fault;
    StreamMessageReader reader = new StreamMessageReader(this::hear, fault, lends);
    if (lends && !socket.isSsl()) {
      InPlaceReader.on(socket.channelHandlerContext().channel(), reader::place);
    }
    socket.messageHandler(
        piece -> {
          try {
            heard.run();
            reader.read((ByteBuf) piece);
          } finally {
            ReferenceCountUtil.release(piece);
          }
        });
    return reader;
  }

  private void hear(StreamMessage message) {
    switch (message.kind()) {
      case SHARE, SEGMENT, MAPPED, NOT_MAPPED -> {
        String wrong = shared.hear(message);
        if (wrong != null) {
          fault.accept(wrong);
        }
      }
      case SHARED_REQUEST -> hearShared(message, Kind.REQUEST);
      case SHARED_ANSWER -> hearShared(message, Kind.ANSWER);
      default -> messages.accept(message);
    }
  }

  /** Whoever is given the message has read or copied its payload when he returns. */
  private void hearShared(StreamMessage message, Kind as) {
    boolean whole = message.body().remaining() == SHARED_BODY_BYTES;
    SlotReference at = whole ? message.reference() : null;
    ByteBuffer payload = whole ? shared.payload(at) : null;
    if (payload == null) {
      fault.accept("%s of a payload that is not there: %s".formatted(message.kind(), at));
      return;
    }
    try {
      messages.accept(
          new StreamMessage(as, message.number(), message.body(), payload, message.lent()));
      shared.free(at);
    } catch (InternalError truncated) {
      fault.accept("shared memory that can no longer be read: " + truncated.getMessage());
    }
  }

  /** Does something on the connection's event loop. */
  void run(Runnable task) {
    socket.channelHandlerContext().executor().execute(task);
  }

  void write(Kind kind) {
    write(kind, 0);
  }

  /** A message without body. */
  void write(Kind kind, long number) {
    socket.writeMessage(StreamMessage.of(kind, number, memory));
  }

  void write(Kind kind, long number, String text) {
    socket.writeMessage(StreamMessage.of(kind, number, text, memory));
  }

  void write(Kind kind, long number, byte[] body) {
    socket.writeMessage(StreamMessage.of(kind, number, body, memory));
  }

  /** A request or an answer; its payload goes through shared memory where there is room in it. */
  void write(Kind kind, long number, Frame frame) {
    if (frame == null) {
      write(kind, number);
      return;
    }
    FrameBytes bytes = FrameCodecs.unsealed(frame);
    SlotReference at = shared.write(number, bytes.payload());
    if (at == null) {
      FrameBytes sealed = bytes.seal(bytes.payload());
      socket.writeMessage(StreamMessage.of(kind, number, sealed, memory));
      return;
    }
    ByteBuffer reference = at.bytes();
    ByteBuffer header = bytes.seal(reference).header();
    Kind as = kind == Kind.REQUEST ? Kind.SHARED_REQUEST : Kind.SHARED_ANSWER;
    socket.writeMessage(StreamMessage.of(as, number, header, reference, memory));
  }
}
