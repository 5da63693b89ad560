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

  private final Consumer<StreamMessage> messageHandler;
  private final Consumer<String> faultHandler;
  private final boolean lends;
  private final ByteBuffer fields =
      ByteBuffer.allocate(StreamMessage.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private Kind kind;
  private ByteBuffer sharedBody = ByteBuffer.allocateDirect(0);
  private ByteBuf inPlaceBuffer;
  private ByteBuffer body;
  private boolean broken;
  private long delivered;
  private Kind expectedKind;

  /**
   * Creates the reader of one stream.
   *
   * @param faultHandler called once with what was found and what was expected
   * @param lends true when a message's body may be overwritten once {@code messageHandler} has
   *     returned
   */
  StreamMessageReader(
      Consumer<StreamMessage> messageHandler, Consumer<String> faultHandler, boolean lends) {
    this.messageHandler = messageHandler;
    this.faultHandler = faultHandler;
    this.lends = lends;
  }

  /**
   * Refuses messages of any other kind before memory for their bodies is allocated.
   *
   * @param kind the only kind accepted from now on; null for any
   */
  void expect(Kind kind) {
    expectedKind = kind;
  }

  /** Reads a piece, which still belongs to the caller. */
  void read(ByteBuf piece) {
    if (piece == inPlaceBuffer) {
      body.position(body.position() + piece.readableBytes());
      piece.skipBytes(piece.readableBytes());
      deliverIfComplete();
    }
    while (piece.isReadable() && !broken) {
      copyAvailable(piece, body == null ? fields : body);
      if (body == null && !fields.hasRemaining()) {
        openBody(fields.getInt(0), fields.getInt(Integer.BYTES));
      }
      deliverIfComplete();
    }
  }

  /**
   * Returns memory for the missing part of a lent body, or null between bodies. The caller reads
   * into it and passes it to {@link #read} before any other piece.
   */
  ByteBuf bodyBuffer() {
    if (!lends || body == null || broken) {
      return null;
    }
    inPlaceBuffer = Unpooled.wrappedBuffer(body.slice()).clear();
    return inPlaceBuffer;
  }

  /** Returns true when a message has begun and is not complete. */
  boolean isInside() {
    return body != null || fields.position() > 0;
  }

  /** Returns the number of complete messages so far. */
  long delivered() {
    return delivered;
  }

  private void deliverIfComplete() {
    if (body != null && !body.hasRemaining()) {
      deliver();
    }
  }

  private static void copyAvailable(ByteBuf piece, ByteBuffer whole) {
    int end = whole.limit();
    piece.readBytes(whole.limit(Math.min(end, whole.position() + piece.readableBytes())));
    whole.limit(end);
  }

  private void openBody(int length, int code) {
    kind = StreamMessage.kind(code);
    if (kind == null) {
      fail("a message of kind %s, expected 0 to %s".formatted(code, Kind.values().length - 1));
    } else if (expectedKind != null && kind != expectedKind) {
      fail("%s before the stream was opened, expected %s".formatted(kind, expectedKind));
    } else if (length < 0 || length > kind.maxBytes()) {
      fail(
          "%s of %s bytes, expected 0 to %s"
              .formatted(kind, Integer.toUnsignedLong(length), kind.maxBytes()));
    } else {
      body = lends ? sharedBody(length) : ByteBuffer.allocate(length);
    }
  }

  private ByteBuffer sharedBody(int length) {
    if (sharedBody.capacity() < length) {
      sharedBody = ByteBuffer.allocateDirect(length);
    }
    return sharedBody.duplicate().limit(length);
  }

  private void deliver() {
    StreamMessage whole = new StreamMessage(kind, fields.getLong(Long.BYTES), body.flip(), lends);
    fields.clear();
    body = null;
    delivered++;
    messageHandler.accept(whole);
  }

  private void fail(String what) {
    broken = true;
    faultHandler.accept(what);
  }
}
