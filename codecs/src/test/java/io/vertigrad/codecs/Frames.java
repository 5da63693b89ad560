package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** Provides one small frame of each kind, and encodes and decodes it. */
final class Frames {

  static final ExchangeId ID = new ExchangeId(0x1122334455667788L, 3, 2, 5, 1_000_000_007L, 4);
  static final long LAYOUT = 0x0102030405060708L;

  static final GradientPartition GRADIENT =
      new GradientPartition(ID, LAYOUT, 41, 128, 1_024, Tensor.ofFloats(1f, -2f));

  static final ParameterPartition PARAMETERS =
      new ParameterPartition(
          ID,
          LAYOUT,
          6,
          42,
          1,
          ParameterPartition.Outcome.APPLIED,
          true,
          1_024,
          Tensor.copyOf(DataType.BFLOAT16, FloatBuffer.wrap(new float[] {1f, -2f, 0.5f})));

  static final PullRequest PULL =
      new PullRequest(new ExchangeId(0x1122334455667788L, -1, 0, 5, 0, 4), LAYOUT, 40);

  static final Refusal REFUSAL = new Refusal(ID, Refusal.Reason.DEADLINE, "worker 1 was missing ü");

  static final Malformed MALFORMED = new Malformed("magic", 0, "0x00000000", "0x44524756");

  static final PeerPartition PEER =
      new PeerPartition(
          ID, LAYOUT, 7, Tensor.copyOf(DataType.FLOAT16, FloatBuffer.wrap(new float[] {1f, -2f})));

  /** Three elements in int8, with a scale of 1/64. */
  static final GradientPartition INT8 =
      new GradientPartition(
          ID,
          LAYOUT,
          41,
          128,
          1_024,
          Tensor.int8(FloatBuffer.wrap(new float[] {127f / 64, -0.5f, 0})));

  /** The two largest of five elements. */
  static final PeerPartition TOP_K =
      new PeerPartition(
          ID, LAYOUT, 7, Tensor.top(FloatBuffer.wrap(new float[] {0, -2f, 0.5f, 0, 1f}), 2));

  /** Three elements in four bits each, with a scale of 1/4. */
  static final PeerPartition INT4 =
      new PeerPartition(
          ID, LAYOUT, 7, Tensor.int4(FloatBuffer.wrap(new float[] {1.75f, -0.5f, 0.25f})));

  /** The signs of nine elements, with a magnitude of 2. */
  static final PeerPartition SIGN =
      new PeerPartition(
          ID,
          LAYOUT,
          7,
          Tensor.signs(FloatBuffer.wrap(new float[] {1, -3, 2, 2, -2, 2, 2, 2, -2})));

  /**
   * Six elements: 7, then three of a matrix of three columns that lacks its first element, {@code
   * (2 0)^T (0.5 1 1.5)}, then 8 and 9.
   */
  static final PeerPartition LOW_RANK =
      new PeerPartition(
          ID,
          LAYOUT,
          7,
          Tensor.lowRank(
              6,
              1,
              List.of(new MatrixRange(1, 3, 3, 1)),
              FloatBuffer.wrap(new float[] {7, 2, 0, 0.5f, 1, 1.5f, 8, 9})));

  static final StageTensor STAGE =
      new StageTensor(
          ID, LAYOUT, StageTensor.Direction.BACKWARD, 6, 1_024, Tensor.ofFloats(1f, -2f));

  /** Returns one frame of each kind, in the order of their numbers. */
  static final List<Frame> ALL =
      List.of(GRADIENT, PARAMETERS, PULL, REFUSAL, MALFORMED, PEER, STAGE);

  /** Returns one frame of each kind and each encoding. */
  static final List<Frame> EVERY =
      Stream.concat(ALL.stream(), Stream.of(INT8, TOP_K, INT4, SIGN, LOW_RANK)).toList();

  private Frames() {}

  static byte[] encode(Frame frame) {
    Buffer wire = Buffer.buffer();
    encode(frame, wire);
    return wire.getBytes();
  }

  static void encode(Frame frame, Buffer wire) {
    codec(frame).encodeToWire(wire, frame);
  }

  /** Decodes with the codec of the frame that these bytes once were. */
  static Frame decode(Frame original, byte[] bytes) {
    return codec(original).decodeFromWire(0, Buffer.buffer(bytes));
  }

  /** Corrects the checksum of changed bytes, so that the other checks are reached. */
  static byte[] seal(byte[] bytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes, 0, HeaderField.CHECKSUM.offset());
    checksum.update(bytes, HeaderField.HEADER_BYTES, bytes.length - HeaderField.HEADER_BYTES);
    return Buffer.buffer(bytes)
        .setUnsignedIntLE(HeaderField.CHECKSUM.offset(), checksum.getValue())
        .getBytes();
  }

  @SuppressWarnings("unchecked")
  static FrameCodec<Frame> codec(Frame frame) {
    return (FrameCodec<Frame>) FrameCodecs.of(frame.getClass());
  }
}
