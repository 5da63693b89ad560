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
 * One message of a stream: 16 bytes that say what it is and how long, then its body.
 *
 * <p>Little-endian: body length (u32), kind (u8), three zero bytes, number (i64). An answer has the
 * number of its request; of {@link Kind#OPEN} it is the format.
 *
 * @param body a frame, or UTF-8 text; empty for the others and for an answer without frame
 * @param payload of a frame whose body is its header and a {@link SlotReference}; else null
 * @param lent the body is written again once whoever is given this has returned
 */
record StreamMessage(Kind kind, long number, ByteBuffer body, ByteBuffer payload, boolean lent) {

  static final int HEADER_BYTES = 16;

  /** Number of the first message of a stream: "VGSTRM03" as its bytes spell it. */
  static final long FORMAT = 0x33304d52_54534756L;

  private static final int MAX_TEXT_BYTES = 4_096;
  private static final Kind[] KINDS = Kind.values();

  /** What a message is, by its code on the wire. */
  enum Kind {
    /** The first message: the sender's random bytes, and the address that its requests are for. */
    OPEN(MAX_TEXT_BYTES),
    REQUEST(FrameLimits.MAX_FRAME_BYTES),
    ANSWER(FrameLimits.MAX_FRAME_BYTES),
    /** Why there is no answer. */
    FAILURE(MAX_TEXT_BYTES),
    /** Asks for a {@link #PONG}: is anybody there? */
    PING(0),
    PONG(0),
    /** The second, of the listener: its random bytes and its code, see {@link StreamProof}. */
    CHALLENGE(StreamProof.NONCE_BYTES + JobSecret.CODE_BYTES),
    /** The third: the sender's code; requests may follow. */
    PROOF(JobSecret.CODE_BYTES),
    /** Asks for shared memory, and agrees: the kernel that the process runs on. */
    SHARE(MAX_TEXT_BYTES),
    /** Offers a segment: number of slots, bytes of a slot, name. */
    SEGMENT(MAX_TEXT_BYTES),
    /** The segment offered was mapped, and a code written into it. */
    MAPPED(0),
    /** Why there is no shared memory. */
    NOT_MAPPED(MAX_TEXT_BYTES),
    /** A request whose payload is in the sender's segment: a header and a reference. */
    SHARED_REQUEST(FrameLimits.HEADER_BYTES + SlotReference.BYTES),
    /** Likewise an answer, in the listener's segment. */
    SHARED_ANSWER(FrameLimits.HEADER_BYTES + SlotReference.BYTES),
    /** Wakes who reads a ring of messages. */
    WAKE(0);

    private final int maxBytes;

    Kind(int maxBytes) {
      this.maxBytes = maxBytes;
    }

    /** Longest body. */
    int maxBytes() {
      return maxBytes;
    }
  }

  /** A message without a payload apart from its body. */
  StreamMessage(Kind kind, long number, ByteBuffer body, boolean lent) {
    this(kind, number, body, null, lent);
  }

  /** The bytes of a message with a sealed frame; a tensor outside the heap is not copied. */
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

  /** The bytes of a message with a sealed frame's header and where its payload is. */
  static ByteBuf of(
      Kind kind, long number, ByteBuffer frame, ByteBuffer reference, ByteBufAllocator memory) {
    int length = frame.remaining() + reference.remaining();
    return header(kind, number, length, length, memory).writeBytes(frame).writeBytes(reference);
  }

  /** The bytes of a message with a text, which is cut where it is too long. */
  static ByteBuf of(Kind kind, long number, String text, ByteBufAllocator memory) {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(body.length, kind.maxBytes());
    return header(kind, number, length, length, memory).writeBytes(body, 0, length);
  }

  /** The bytes of a message whose body is neither a frame nor a text. */
  static ByteBuf of(Kind kind, long number, byte[] body, ByteBufAllocator memory) {
    return header(kind, number, body.length, body.length, memory).writeBytes(body);
  }

  /** The bytes of a message without body. */
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

  /** The kind of this code, or null. */
  static Kind kind(int code) {
    return code >= 0 && code < KINDS.length ? KINDS[code] : null;
  }

  /** A copy of the body from this place on; empty where it ends before. */
  byte[] bytes(int from) {
    ByteBuffer part = body.duplicate();
    part.position(part.position() + Math.min(from, part.remaining()));
    byte[] bytes = new byte[part.remaining()];
    part.get(bytes);
    return bytes;
  }

  /** The body as text. */
  String text() {
    return StandardCharsets.UTF_8.decode(body.duplicate()).toString();
  }

  /** Where the payload of a frame is whose body is its header and a reference. */
  SlotReference reference() {
    return SlotReference.read(body.slice(FrameLimits.HEADER_BYTES, SlotReference.BYTES));
  }

  /** The body as a frame, which may stay a view of it; null where there is none. */
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
