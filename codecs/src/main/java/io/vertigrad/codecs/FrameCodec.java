package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.MessageCodec;
import java.nio.ByteBuffer;

/**
 * How one kind of frame is written and read; a subclass names the fields, this class frames them.
 *
 * <p>A codec holds no state. Encoding a record never throws, because a record was checked when it
 * was made; decoding never throws, because the bus would leave a requester's future open for ever:
 * whatever is wrong with the bytes becomes a {@link Malformed}.
 *
 * @param <F> the record that is sent
 */
abstract class FrameCodec<F extends Frame> implements MessageCodec<F, Frame> {

  private final int kind;
  private final Class<F> type;
  private final String name;

  /** A kind code from 1 to 255, the record, and the name after {@code vertigrad.}. */
  FrameCodec(int kind, Class<F> type, String name) {
    this.kind = kind;
    this.type = type;
    this.name = Addresses.PREFIX + name;
  }

  /** Fills in the fields and the payload of this kind. */
  abstract void write(F frame, FrameWriter to);

  /** Reads the fields and the payload of this kind, in any order. */
  abstract Frame read(FrameReader from);

  final int kind() {
    return kind;
  }

  final Class<F> type() {
    return type;
  }

  @Override
  public final void encodeToWire(Buffer wire, F frame) {
    written(frame).appendTo(wire);
  }

  /** The bytes of a frame that is of this kind, without its checksum. */
  final FrameBytes unsealed(Frame frame) {
    return written(type.cast(frame)).unsealed();
  }

  private FrameWriter written(F frame) {
    FrameWriter writer = new FrameWriter(kind);
    write(frame, writer);
    return writer;
  }

  @Override
  public final Frame decodeFromWire(int start, Buffer wire) {
    return read(new FrameReader(kind, wire, start, false));
  }

  /** Likewise, of a buffer whose memory is only borrowed. */
  final Frame decodeLent(Buffer wire) {
    return read(new FrameReader(kind, wire, 0, true));
  }

  /** Likewise, of a frame whose payload came by other means than its header. */
  final Frame decodeApart(ByteBuffer head, ByteBuffer payload, boolean lent) {
    return read(new FrameReader(kind, head, payload, lent));
  }

  /** Local delivery: the immutable record itself. */
  @Override
  public final Frame transform(F frame) {
    return frame;
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final byte systemCodecID() {
    return -1;
  }
}
