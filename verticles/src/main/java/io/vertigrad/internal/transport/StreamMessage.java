package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.job.JobSecret;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One message of a stream: a header of 16 bytes with its kind and length, then its body.
 *
 * <p>The header is little-endian: body length (u32), kind (u8), three zero bytes, number (i64). An
 * answer has the number of its request; the number of {@link Kind#OPEN} is the format.
 *
 * @param body a frame or UTF-8 text; empty for the other kinds and for an answer without a frame
 * @param payload payload of a frame whose body is its header and a {@link SlotReference}; else null
 * @param lent true when the body is overwritten once the receiver of the message has returned
 */
record StreamMessage(Kind kind, long number, ByteBuffer body, ByteBuffer payload, boolean lent) {

  static final int HEADER_BYTES = 16;

  /** Number of the first message of a stream: the bytes spell "VGSTRM03". */
  static final long FORMAT = 0x33304d52_54534756L;

  private static final int MAX_TEXT_BYTES = 4_096;
  private static final Kind[] KINDS = Kind.values();

  /** The kinds of messages; the ordinal is the code on the wire. */
  enum Kind {
    /** The first message: the sender's random bytes, and the address that its requests are for. */
    OPEN(MAX_TEXT_BYTES),
    REQUEST(FrameLimits.MAX_FRAME_BYTES),
    ANSWER(FrameLimits.MAX_FRAME_BYTES),
    /** The reason why there is no answer. */
    FAILURE(MAX_TEXT_BYTES),
    /** Asks for a {@link #PONG}, to find out whether the other end is alive. */
    PING(0),
    PONG(0),
    /** The listener's answer to OPEN: its random bytes and its code, see {@link StreamProof}. */
    CHALLENGE(StreamProof.NONCE_BYTES + JobSecret.CODE_BYTES),
    /** The sender's answer to CHALLENGE: its code; requests may follow. */
    PROOF(JobSecret.CODE_BYTES),
    /**
     * Asks for shared memory, or agrees to it; the body names the kernel that the process runs on.
     */
    SHARE(MAX_TEXT_BYTES),
    /** Offers a segment: number of slots, bytes per slot, name. */
    SEGMENT(MAX_TEXT_BYTES),
    /** Reports that the offered segment was mapped and a code written into it. */
    MAPPED(0),
    /** The reason why there is no shared memory. */
    NOT_MAPPED(MAX_TEXT_BYTES),
    /** A request whose payload is in the sender's segment: a header and a slot reference. */
    SHARED_REQUEST(FrameLimits.HEADER_BYTES + SlotReference.BYTES),
    /** An answer whose payload is in the listener's segment: a header and a slot reference. */
    SHARED_ANSWER(FrameLimits.HEADER_BYTES + SlotReference.BYTES),
    /** Wakes the reader of a message ring. */
    WAKE(0);

    private final int maxBytes;

    Kind(int maxBytes) {
      this.maxBytes = maxBytes;
    }

    /** Returns the length of the longest body in bytes. */
    int maxBytes() {
      return maxBytes;
    }
  }

  /** Creates a message without a separate payload. */
  StreamMessage(Kind kind, long number, ByteBuffer body, boolean lent) {
    this(kind, number, body, null, lent);
  }

  /**
   * Returns the bytes of a message with a sealed frame; a tensor outside the heap is not copied.
   */
  static ByteBuf of(Kind kind, long number, FrameBytes bytes, ByteBufAllocator memory) {
    ByteBuffer payload = bytes.payload();
    boolean asItLies = payload.isDirect();
    int length = bytes.length();
    int copied = asItLies ? bytes.header().remaining() : length;
    ByteBuf head = header(kind, number, length, copied, memory).writeBytes(bytes.header());
    return asItLies
        ? memory.compositeBuffer(2).addComponents(true, head, Unpooled.wrappedBuffer(payload))
        : head.writeBytes(payload);
  }

  /** Returns the bytes of a message with a sealed frame's header and a reference to its payload. */
  static ByteBuf of(
      Kind kind, long number, ByteBuffer frame, ByteBuffer reference, ByteBufAllocator memory) {
    int length = frame.remaining() + reference.remaining();
    return header(kind, number, length, length, memory).writeBytes(frame).writeBytes(reference);
  }

  /** Returns the bytes of a message with a text, which is cut if it is too long. */
  static ByteBuf of(Kind kind, long number, String text, ByteBufAllocator memory) {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(body.length, kind.maxBytes());
    return header(kind, number, length, length, memory).writeBytes(body, 0, length);
  }

  /** Returns the bytes of a message whose body is neither a frame nor a text. */
  static ByteBuf of(Kind kind, long number, byte[] body, ByteBufAllocator memory) {
    return header(kind, number, body.length, body.length, memory).writeBytes(body);
  }

  /** Returns the bytes of a message without a body. */
  static ByteBuf of(Kind kind, long number, ByteBufAllocator memory) {
    return header(kind, number, 0, 0, memory);
  }

  private static ByteBuf header(
      Kind kind, long number, int length, int room, ByteBufAllocator memory) {
    return memory
        .directBuffer(HEADER_BYTES + room)
        .writeIntLE(length)
        .writeIntLE(kind.ordinal())
        .writeLongLE(number);
  }

  /** Returns the kind with this code, or null if there is none. */
  static Kind kind(int code) {
    return code >= 0 && code < KINDS.length ? KINDS[code] : null;
  }

  /** Returns a copy of the body from an offset on; empty if the body is shorter. */
  byte[] bytes(int from) {
    ByteBuffer part = body.duplicate();
    part.position(part.position() + Math.min(from, part.remaining()));
    byte[] bytes = new byte[part.remaining()];
    part.get(bytes);
    return bytes;
  }

  /** Returns the body as text. */
  String text() {
    return StandardCharsets.UTF_8.decode(body.duplicate()).toString();
  }

  /** Returns where the payload is of a frame whose body is its header and a slot reference. */
  SlotReference reference() {
    return SlotReference.read(body.slice(FrameLimits.HEADER_BYTES, SlotReference.BYTES));
  }

  /** Returns the body as a frame, which may be a view of the body; null if the body is empty. */
  Frame frame() {
    if (!body.hasRemaining()) {
      return null;
    }
    if (payload != null) {
      return FrameCodecs.decodeApart(body, payload, lent);
    }
    Buffer wire = BufferInternal.buffer(Unpooled.wrappedBuffer(body));
    return lent ? FrameCodecs.decodeLent(wire) : FrameCodecs.decode(wire);
  }
}
