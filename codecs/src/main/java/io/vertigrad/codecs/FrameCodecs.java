package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageCodec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.function.Function;

/** All frame codecs, and their registration on an event bus. */
public final class FrameCodecs {

  private static final List<FrameCodec<?>> ALL =
      List.of(
          new GradientPartitionCodec(),
          new ParameterPartitionCodec(),
          new PullRequestCodec(),
          new RefusalCodec(),
          new MalformedCodec(),
          new PeerPartitionCodec(),
          new StageTensorCodec());

  private FrameCodecs() {}

  /**
   * Registers all codecs on a bus, so that frames can be sent on it. Repeated calls have no effect.
   * Any thread.
   *
   * @param bus the event bus of this node
   */
  public static void register(EventBus bus) {
    ALL.forEach(codec -> register(bus, codec));
  }

  /**
   * Returns the codec of one kind of frame, for benchmarks and for transports other than the bus.
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
   * Returns whether a codec encodes a kind of frame.
   *
   * @param codec any codec of an event bus
   * @return true when it is one of {@link #register}'s
   */
  public static boolean isOfFrame(MessageCodec<?, ?> codec) {
    return codec instanceof FrameCodec;
  }

  /**
   * Encodes a frame of any kind, for transports other than the bus.
   *
   * @param frame any frame
   * @return its header and its payload
   */
  public static FrameBytes encode(Frame frame) {
    FrameBytes bytes = unsealed(frame);
    return bytes.seal(bytes.payload());
  }

  /**
   * Encodes a frame without its checksum, for a transport that sends the payload apart from the
   * header and {@linkplain FrameBytes#seal seals} the frame itself.
   *
   * @param frame any frame
   * @return its header, whose checksum is 0, and its payload
   */
  public static FrameBytes unsealed(Frame frame) {
    return codec(frame.getClass()).unsealed(frame);
  }

  /**
   * Decodes a frame of any kind. Never throws.
   *
   * @param wire a whole frame
   * @return the frame, or a {@link Malformed} that describes the first fault
   */
  public static Frame decode(Buffer wire) {
    return decode(wire, codec -> codec.decodeFromWire(0, wire));
  }

  /**
   * Decodes a frame in borrowed memory. The frame's tensor is borrowed too, see {@link
   * TensorView#retain}. Never throws.
   *
   * @param wire a whole frame in borrowed memory
   * @return the frame, or a {@link Malformed}
   */
  public static Frame decodeLent(Buffer wire) {
    return decode(wire, codec -> codec.decodeLent(wire));
  }

  /**
   * Decodes a frame whose payload is stored apart from its header. Never throws. A payload that is
   * not a dense vector is copied before it is checked, because other processes may write its memory
   * between the check and the use.
   *
   * @param head the header, followed by the bytes that its checksum covers in place of the payload
   * @param payload in the sender's memory
   * @param lent true when the payload may be overwritten once the borrower gives the frame back;
   *     false when the frame must stay valid
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
        kind < 0 ? "%s bytes".formatted(bytes) : "kind " + kind,
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
      // The bus has no way to ask first. Only this class registers codecs for our records.
    }
  }
}
