package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/**
 * Puts the pieces in which a stream arrives together again.
 *
 * <p>A body gets an array of its own, of the length that its header names once that was checked, so
 * that a frame's tensor can stay a view of it; or, where bodies are lent, all of a stream share
 * memory outside the heap, which stays in the processor's cache and which a channel can read into.
 * After a fault nothing more is read.
 */
final class StreamMessageReader {

  private final Consumer<StreamMessage> messages;
  private final Consumer<String> fault;
  private final boolean lends;
  private final ByteBuffer fields =
      ByteBuffer.allocate(StreamMessage.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private Kind kind;
  private ByteBuffer shared = ByteBuffer.allocateDirect(0);
  private ByteBuf inPlace;
  private ByteBuffer body;
  private boolean broken;
  private long delivered;
  private Kind only;

  /**
   * Reads one stream.
   *
   * @param fault is told once what was found and what was expected
   * @param lends a message's body may be written again once {@code messages} has returned
   */
  StreamMessageReader(Consumer<StreamMessage> messages, Consumer<String> fault, boolean lends) {
    this.messages = messages;
    this.fault = fault;
    this.lends = lends;
  }

  /**
   * Has messages of any other kind refused before there is memory for their bodies.
   *
   * @param kind the only one from now on; null for any
   */
  void expect(Kind kind) {
    only = kind;
  }

  /** Takes what came; it stays the caller's. */
  void read(ByteBuf piece) {
    if (piece == inPlace) {
      body.position(body.position() + piece.readableBytes());
      piece.skipBytes(piece.readableBytes());
      dealWith();
    }
    while (piece.isReadable() && !broken) {
      take(piece, body == null ? fields : body);
      if (body == null && !fields.hasRemaining()) {
        openBody(fields.getInt(0), fields.getInt(Integer.BYTES));
      }
      dealWith();
    }
  }

  /**
   * Memory for what is missing of a body that is lent, to be read into and then given to {@link
   * #read}, before anything else is; null in between bodies.
   */
  ByteBuf place() {
    if (!lends || body == null || broken) {
      return null;
    }
    inPlace = Unpooled.wrappedBuffer(body.slice()).clear();
    return inPlace;
  }

  /** True when a message has begun and is not complete. */
  boolean isInside() {
    return body != null || fields.position() > 0;
  }

  /** Messages that were complete. */
  long delivered() {
    return delivered;
  }

  private void dealWith() {
    if (body != null && !body.hasRemaining()) {
      deliver();
    }
  }

  private static void take(ByteBuf piece, ByteBuffer whole) {
    int end = whole.limit();
    piece.readBytes(whole.limit(Math.min(end, whole.position() + piece.readableBytes())));
    whole.limit(end);
  }

  private void openBody(int length, int code) {
    kind = StreamMessage.kind(code);
    if (kind == null) {
      fail("a message of kind %d, expected 0 to %d".formatted(code, Kind.values().length - 1));
    } else if (only != null && kind != only) {
      fail("%s before the stream was opened, expected %s".formatted(kind, only));
    } else if (length < 0 || length > kind.maxBytes()) {
      fail(
          "%s of %d bytes, expected 0 to %d"
              .formatted(kind, Integer.toUnsignedLong(length), kind.maxBytes()));
    } else {
      body = lends ? shared(length) : ByteBuffer.allocate(length);
    }
  }

  private ByteBuffer shared(int length) {
    if (shared.capacity() < length) {
      shared = ByteBuffer.allocateDirect(length);
    }
    return shared.duplicate().limit(length);
  }

  private void deliver() {
    StreamMessage whole = new StreamMessage(kind, fields.getLong(Long.BYTES), body.flip(), lends);
    fields.clear();
    body = null;
    delivered++;
    messages.accept(whole);
  }

  private void fail(String what) {
    broken = true;
    fault.accept(what);
  }
}
