package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageCodec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.Function;

/** Every codec there is, and their registration on an event bus. */
public final class FrameCodecs {

  private static final List<FrameCodec<?>> ALL =
      List.of(
          new GradientPartitionCodec(),
          new ParameterPartitionCodec(),
          new PullRequestCodec(),
          new RefusalCodec(),
          new MalformedCodec(),
          new PeerPartitionCodec(),
          new StageTensorCodec(),
          new ReplicaTensorCodec(),
          new ReplicaCommitCodec());

  private FrameCodecs() {}

  /**
   * Makes every frame sendable on this bus; harmless if it was done before. Any thread.
   *
   * @param bus the event bus of this node
   */
  public static void register(EventBus bus) {
    ALL.forEach(codec -> register(bus, codec));
  }

  /**
   * The codec of one kind of frame, for measuring it and for carrying frames by other means.
   *
   * @param type the kind of frame
   * @param <F> the kind of frame
   * @return its codec
   */
  public static <F extends Frame> MessageCodec<F, Frame> of(Class<F> type) {
    @SuppressWarnings("unchecked")
    MessageCodec<F, Frame> found = (FrameCodec<F>) codec(type);
    return found;
  }

  /**
   * Returns true for a codec of a kind of frame.
   *
   * @param codec any codec of an event bus
   * @return true when it is one of this class's
   */
  public static boolean isOfFrame(MessageCodec<?, ?> codec) {
    return codec instanceof FrameCodec;
  }

  /**
   * The bytes of a frame of any kind, for carrying it by other means than the bus.
   *
   * @param frame any frame
   * @return its header and its payload
   */
  public static FrameBytes encode(Frame frame) {
    FrameBytes bytes = unsealed(frame);
    return bytes.seal(bytes.payload());
  }

  /**
   * Likewise without the checksum, for whoever carries the payload apart from the header and
   * {@linkplain FrameBytes#seal seals} the frame himself.
   *
   * @param frame any frame
   * @return its header, whose checksum is 0, and its payload
   */
  public static FrameBytes unsealed(Frame frame) {
    return codec(frame.getClass()).unsealed(frame);
  }

  /**
   * The frame of any kind that {@code wire} is; never throws, as {@link FrameCodec}.
   *
   * @param wire a whole frame
   * @return the frame, or a {@link Malformed} that says what is wrong with it
   */
  public static Frame decode(Buffer wire) {
    return decode(wire, codec -> codec.decodeFromWire(0, wire));
  }

  /**
   * Likewise, of memory that is only borrowed: so is the frame's tensor, see {@link
   * TensorView#retain}.
   *
   * @param wire a whole frame in borrowed memory
   * @return the frame, or a {@link Malformed}
   */
  public static Frame decodeLent(Buffer wire) {
    return decode(wire, codec -> codec.decodeLent(wire));
  }

  /**
   * The frame whose header and payload came by different means; never throws. What is not a plain
   * vector is copied before it is checked, because a payload in memory that others can write may
   * change in between.
   *
   * @param head the header, and behind it what its checksum covers in place of the payload
   * @param payload in memory of the sender's
   * @param lent true where the payload may be written again once the borrower of the frame is done
   *     with it; false where the frame is to last
   * @return the frame, or a {@link Malformed}
   */
  public static Frame decodeApart(ByteBuffer head, ByteBuffer payload, boolean lent) {
    ByteBuffer header = head.slice().order(ByteOrder.LITTLE_ENDIAN);
    boolean whole = header.remaining() >= HeaderField.HEADER_BYTES;
    boolean plain = whole && HeaderField.ENCODING.read(header) == Encoding.DENSE.code();
    ByteBuffer checked =
        plain ? payload : Tensor.allocate(payload.remaining()).put(payload.duplicate()).flip();
    return decode(
        whole ? (int) HeaderField.KIND.read(header) : -1,
        header.remaining(),
        codec -> codec.decodeApart(header, checked, lent && plain));
  }

  private static Frame decode(Buffer wire, Function<FrameCodec<?>, Frame> decoding) {
    return decode(FrameReader.kind(wire), wire.length(), decoding);
  }

  private static Frame decode(int kind, int bytes, Function<FrameCodec<?>, Frame> decoding) {
    for (FrameCodec<?> codec : ALL) {
      if (codec.kind() == kind) {
        return decoding.apply(codec);
      }
    }
    return new Malformed(
        HeaderField.KIND.label(),
        HeaderField.KIND.offset(),
        kind < 0 ? "%d bytes".formatted(bytes) : "kind " + kind,
        "one of %s".formatted(ALL.stream().map(FrameCodec::kind).toList()));
  }

  static List<FrameCodec<?>> all() {
    return ALL;
  }

  private static FrameCodec<?> codec(Class<? extends Frame> type) {
    for (FrameCodec<?> codec : ALL) {
      if (codec.type() == type) {
        return codec;
      }
    }
    throw new IllegalArgumentException(
        "no codec for %s, expected one of %s"
            .formatted(type.getName(), ALL.stream().map(FrameCodec::type).toList()));
  }

  private static <F extends Frame> void register(EventBus bus, FrameCodec<F> codec) {
    try {
      bus.registerDefaultCodec(codec.type(), codec);
    } catch (IllegalStateException registeredBefore) {
      // The bus offers no question, only this answer; nobody else has a codec for our records.
    }
  }
}
