package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/**
 * Assembles the messages of a stream from the pieces in which they arrive.
 *
 * <p>Without lending, a body gets an array of its own, once its length is checked, so that a
 * frame's tensor can be a view of it. With lending, all bodies of a stream share memory outside the
 * heap, which stays in the processor's cache and which a channel can read into. Nothing is read
 * after a fault.
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
   * Creates the reader of one stream.
   *
   * @param fault called once with what was found and what was expected
   * @param lends true when a message's body may be overwritten once {@code messages} has returned
   */
  StreamMessageReader(Consumer<StreamMessage> messages, Consumer<String> fault, boolean lends) {
    this.messages = messages;
    this.fault = fault;
    this.lends = lends;
  }

  /**
   * Refuses messages of any other kind before memory for their bodies is allocated.
   *
   * @param kind the only kind accepted from now on; null for any
   */
  void expect(Kind kind) {
    only = kind;
  }

  /** Reads a piece, which still belongs to the caller. */
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
   * Returns memory for the missing part of a lent body, or null between bodies. The caller reads
   * into it and passes it to {@link #read} before any other piece.
   */
  ByteBuf place() {
    if (!lends || body == null || broken) {
      return null;
    }
    inPlace = Unpooled.wrappedBuffer(body.slice()).clear();
    return inPlace;
  }

  /** Returns true when a message has begun and is not complete. */
  boolean isInside() {
    return body != null || fields.position() > 0;
  }

  /** Returns the number of complete messages so far. */
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
