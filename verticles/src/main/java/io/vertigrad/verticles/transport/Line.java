package io.vertigrad.verticles.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.vertigrad.codecs.Frame;
import io.vertigrad.verticles.transport.Envelope.Kind;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.util.function.Consumer;

/**
 * One end of a connection: messages out and in.
 *
 * <p>It writes pooled memory and reads what the channel read, because the buffers of a plain socket
 * would copy each byte once more in either direction. Any thread may write.
 */
final class Line {

  private final NetSocketInternal socket;
  private final ByteBufAllocator memory;

  Line(NetSocket socket) {
    this.socket = (NetSocketInternal) socket;
    this.memory = this.socket.channelHandlerContext().alloc();
  }

  /**
   * Hands on every message; {@code fault} is told once what cannot be read, and nothing follows.
   *
   * @param lends see {@link EnvelopeReader}
   */
  void listen(Consumer<Envelope> messages, Consumer<String> fault, Runnable heard, boolean lends) {
    EnvelopeReader reader = new EnvelopeReader(messages, fault, lends);
    if (lends && !socket.isSsl()) {
      ReadsInPlace.on(socket.channelHandlerContext().channel(), reader::place);
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
  }

  void write(Kind kind) {
    socket.writeMessage(Envelope.of(kind, memory));
  }

  void write(Kind kind, long number, String text) {
    socket.writeMessage(Envelope.of(kind, number, text, memory));
  }

  void write(Kind kind, long number, Frame frame) {
    socket.writeMessage(Envelope.of(kind, number, frame, memory));
  }
}
