package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * Checks that a payload is the tensor that its header describes. Allocates only to describe a
 * fault.
 *
 * @param payload from position 0 on, little-endian
 */
record TensorCheck(DataType type, Encoding encoding, int elements, ByteBuffer payload) {

  /** Returns the first fault, or null. */
  Malformed fault() {
    if (encoding != Encoding.DENSE && type != DataType.FLOAT32) {
      String expected = "%s (FLOAT32) for %s".formatted(DataType.FLOAT32.code(), encoding);
      return wrong(HeaderField.DATA_TYPE, type.code(), expected);
    }
    return switch (encoding) {
      case DENSE -> length((long) elements * type.bytes(), type);
      case INT8 -> blocks(Int8Blocks.payloadBytes(elements), Int8Blocks.SCALES);
      case TOP_K -> entries();
      case INT4 -> blocks(Int4Blocks.payloadBytes(elements), Int4Blocks.SCALES);
      case SIGN -> blocks(SignBlocks.payloadBytes(elements), SignBlocks.SCALES);
      case LOW_RANK -> factors();
    };
  }

  private Malformed length(long bytes, Enum<?> of) {
    return bytes == payload.remaining()
        ? null
        : wrong(
            HeaderField.PAYLOAD_LENGTH,
            payload.remaining(),
            "%s for %s elements of %s".formatted(bytes, elements, of));
  }

  private Malformed blocks(long bytes, BlockScales scales) {
    Malformed length = length(bytes, encoding);
    int block = length == null ? scales.firstWrong(payload, elements) : -1;
    if (block < 0) {
      return length;
    }
    float scale = payload.getFloat(block * Float.BYTES);
    return new Malformed(
        "scale",
        HeaderField.HEADER_BYTES + block * Float.BYTES,
        Float.toString(scale),
        "0 to the largest float over %s".formatted(scales.largest()));
  }

  private Malformed entries() {
    int bytes = payload.remaining();
    long most = (long) elements * TopElements.ENTRY_BYTES;
    if (bytes % TopElements.ENTRY_BYTES != 0 || bytes > most) {
      String expected =
          "a multiple of %s up to %s for %s elements of %s"
              .formatted(TopElements.ENTRY_BYTES, most, elements, encoding);
      return wrong(HeaderField.PAYLOAD_LENGTH, bytes, expected);
    }
    int entry = TopElements.firstWrongIndex(payload, elements);
    return entry < 0
        ? null
        : new Malformed(
            "index",
            HeaderField.HEADER_BYTES + entry * Integer.BYTES,
            Integer.toString(payload.getInt(entry * Integer.BYTES)),
            "above the one before and below %s".formatted(elements));
  }

  private Malformed factors() {
    int bytes = payload.remaining();
    if (bytes < LowRankFactors.HEAD_BYTES) {
      return wrong(
          HeaderField.PAYLOAD_LENGTH,
          bytes,
          "at least %s for %s".formatted(LowRankFactors.HEAD_BYTES, encoding));
    }
    int rank = payload.getInt(0);
    if (rank < 1 || rank > LowRankFactors.MOST_RANK) {
      return wrong("rank", 0, rank, "1 to %s".formatted(LowRankFactors.MOST_RANK));
    }
    int matrices = payload.getInt(Integer.BYTES);
    int most = (bytes - LowRankFactors.HEAD_BYTES) / LowRankFactors.ENTRY_BYTES;
    if (matrices < 0 || matrices > most) {
      return wrong("matrices", Integer.BYTES, matrices, "0 to %s".formatted(most));
    }
    int matrix = LowRankFactors.firstWrongMatrix(payload, matrices, elements);
    return matrix < 0
        ? length(LowRankFactors.payloadBytes(payload, matrices, elements), encoding)
        : wrong(
            "matrix",
            LowRankFactors.bodyAt(matrix),
            matrix,
            "a run of elements behind the matrix before and below %s".formatted(elements));
  }

  private static Malformed wrong(String name, int offset, int found, String expected) {
    return new Malformed(
        name, HeaderField.HEADER_BYTES + offset, Integer.toString(found), expected);
  }

  private static Malformed wrong(HeaderField field, long found, String expected) {
    return new Malformed(field.label(), field.offset(), field.show(found), expected);
  }
}
