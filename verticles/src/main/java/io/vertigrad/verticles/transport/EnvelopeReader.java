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
 * that a frame's tensor can stay a view of it; or, where bodies are lent, all of a stream share
 * one, which stays in the processor's cache. After a fault nothing more is read.
 */
final class EnvelopeReader {

  private final Consumer<Envelope> messages;
  private final Consumer<String> fault;
  private final boolean lends;
  private final ByteBuffer fields =
      ByteBuffer.allocate(Envelope.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private Kind kind;
  private byte[] shared = new byte[0];
  private ByteBuffer body;
  private boolean broken;

  /**
   * Reads one stream.
   *
   * @param fault is told once what was found and what was expected
   * @param lends a message's body may be written again once {@code messages} has returned
   */
  EnvelopeReader(Consumer<Envelope> messages, Consumer<String> fault, boolean lends) {
    this.messages = messages;
    this.fault = fault;
    this.lends = lends;
  }

  /** Takes what came; it stays the caller's. */
  void read(ByteBuf piece) {
    while (piece.isReadable() && !broken) {
      take(piece, body == null ? fields : body);
      if (body == null && !fields.hasRemaining()) {
        openBody(fields.getInt(0), fields.getInt(Integer.BYTES));
      }
      if (body != null && !body.hasRemaining()) {
        deliver();
      }
    }
  }

  private static void take(ByteBuf piece, ByteBuffer whole) {
    int end = whole.limit();
    piece.readBytes(whole.limit(Math.min(end, whole.position() + piece.readableBytes())));
    whole.limit(end);
  }

  private void openBody(int length, int code) {
    kind = Envelope.kind(code);
    if (kind == null) {
      fail("a message of kind %d, expected 0 to %d".formatted(code, Kind.PONG.ordinal()));
    } else if (length < 0 || length > kind.maxBytes()) {
      fail(
          "%s of %d bytes, expected 0 to %d"
              .formatted(kind, Integer.toUnsignedLong(length), kind.maxBytes()));
    } else {
      body = lends ? shared(length) : ByteBuffer.allocate(length);
    }
  }

  private ByteBuffer shared(int length) {
    if (shared.length < length) {
      shared = new byte[length];
    }
    return ByteBuffer.wrap(shared, 0, length);
  }

  private void deliver() {
    Envelope whole = new Envelope(kind, fields.getLong(Long.BYTES), body.flip(), lends);
    fields.clear();
    body = null;
    messages.accept(whole);
  }

  private void fail(String what) {
    broken = true;
    fault.accept(what);
  }
}
