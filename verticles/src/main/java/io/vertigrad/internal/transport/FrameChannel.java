package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ReferenceCountUtil;
import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.util.function.Consumer;

/**
 * One end of a connection: messages out and in.
 *
 * <p>It writes pooled memory and reads what the channel read, because the buffers of a plain socket
 * would copy each byte once more in either direction. Any thread may write.
 */
final class FrameChannel {

  private final NetSocketInternal socket;
  private final ByteBufAllocator memory;

  FrameChannel(NetSocket socket) {
    this.socket = (NetSocketInternal) socket;
    this.memory = this.socket.channelHandlerContext().alloc();
  }

  /**
   * Hands on every message, and returns what puts them together; {@code fault} is told once what
   * cannot be read, and nothing follows.
   *
   * @param lends see {@link StreamMessageReader}
   */
  StreamMessageReader listen(
      Consumer<StreamMessage> messages, Consumer<String> fault, Runnable heard, boolean lends) {
    StreamMessageReader reader = new StreamMessageReader(messages, fault, lends);
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

  void write(Kind kind) {
    socket.writeMessage(StreamMessage.of(kind, memory));
  }

  void write(Kind kind, long number, String text) {
    socket.writeMessage(StreamMessage.of(kind, number, text, memory));
  }

  void write(Kind kind, long number, byte[] body) {
    socket.writeMessage(StreamMessage.of(kind, number, body, memory));
  }

  void write(Kind kind, long number, Frame frame) {
    socket.writeMessage(StreamMessage.of(kind, number, frame, memory));
  }
}
