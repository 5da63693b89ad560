package io.vertigrad.verticles.transport;

import io.netty.buffer.ByteBuf;
import io.vertigrad.verticles.transport.Envelope.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/**
 * Puts the pieces in which a stream arrives together again.
 *
 * <p>A body gets an array of its own, of the length that its header names once that was checked, so
 * that a frame's tensor can stay a view of it. After a fault nothing more is read.
 */
final class EnvelopeReader {

  private final Consumer<Envelope> messages;
  private final Consumer<String> fault;
  private final byte[] header = new byte[Envelope.HEADER_BYTES];
  private final ByteBuffer fields = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
  private Kind kind;
  private byte[] body;
  private int taken;
  private boolean broken;

  /**
   * Reads one stream.
   *
   * @param fault is told once what was found and what was expected
   */
  EnvelopeReader(Consumer<Envelope> messages, Consumer<String> fault) {
    this.messages = messages;
    this.fault = fault;
  }

  /** Takes what came; it stays the caller's. */
  void read(ByteBuf piece) {
    while (piece.isReadable() && !broken) {
      if (body == null) {
        takeHeader(piece);
      } else {
        take(piece, body);
      }
      if (body != null && taken == body.length) {
        deliver();
      }
    }
  }

  private void takeHeader(ByteBuf piece) {
    take(piece, header);
    if (taken == header.length) {
      openBody(fields.getInt(0), fields.getInt(Integer.BYTES));
    }
  }

  private void openBody(int length, int code) {
    taken = 0;
    kind = Envelope.kind(code);
    if (kind == null) {
      fail("a message of kind %d, expected 0 to %d".formatted(code, Kind.PONG.ordinal()));
    } else if (length < 0 || length > kind.maxBytes()) {
      fail(
          "%s of %d bytes, expected 0 to %d"
              .formatted(kind, Integer.toUnsignedLong(length), kind.maxBytes()));
    } else {
      body = new byte[length];
    }
  }

  private void take(ByteBuf piece, byte[] whole) {
    int count = Math.min(whole.length - taken, piece.readableBytes());
    piece.readBytes(whole, taken, count);
    taken += count;
  }

  private void deliver() {
    Envelope whole = new Envelope(kind, fields.getLong(Long.BYTES), body);
    taken = 0;
    body = null;
    messages.accept(whole);
  }

  private void fail(String what) {
    broken = true;
    fault.accept(what);
  }
}
