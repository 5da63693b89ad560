package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.MessageCodec;
import java.nio.ByteBuffer;

/**
 * Writes and reads one kind of frame. A subclass lists the fields; this class adds the header and
 * the checksum.
 *
 * <p>A codec holds no state. Encoding never throws, because a record was checked when it was
 * created. Decoding never throws either, because the bus would then leave the requester's future
 * open forever; it returns a {@link Malformed} instead.
 *
 * @param <F> the record that is sent
 */
abstract class FrameCodec<F extends Frame> implements MessageCodec<F, Frame> {

  private final int kind;
  private final Class<F> type;
  private final String name;

  /** Takes a kind code from 1 to 255, the record class, and the name after {@code vertigrad.}. */
  FrameCodec(int kind, Class<F> type, String name) {
    this.kind = kind;
    this.type = type;
    this.name = Addresses.PREFIX + name;
  }

  /** Writes the fields and the payload of this kind. */
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

  /** Returns the bytes of a frame of this kind, without its checksum. */
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

  /** Decodes a buffer whose memory is borrowed, so the frame's tensor is borrowed too. */
  final Frame decodeLent(Buffer wire) {
    return read(new FrameReader(kind, wire, 0, true));
  }

  /** Decodes a frame whose payload is stored apart from its header. */
  final Frame decodeApart(ByteBuffer head, ByteBuffer payload, boolean lent) {
    return read(new FrameReader(kind, head, payload, lent));
  }

  /** Returns the immutable record itself for local delivery. */
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
