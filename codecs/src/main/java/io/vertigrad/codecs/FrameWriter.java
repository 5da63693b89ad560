package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** Writes one frame: header fields in any order, one payload, then {@link #appendTo}. */
final class FrameWriter {

  private final ByteBuffer header =
      ByteBuffer.allocate(HeaderField.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private ByteBuffer payload = ByteBuffer.allocate(0);

  FrameWriter(int kind) {
    put(HeaderField.MAGIC, HeaderField.MAGIC_NUMBER);
    put(HeaderField.FORMAT_VERSION, HeaderField.CURRENT_FORMAT);
    put(HeaderField.KIND, kind);
  }

  FrameWriter put(HeaderField field, long value) {
    field.write(header, value);
    return this;
  }

  FrameWriter put(HeaderField field, Coded value) {
    return put(field, value.code());
  }

  FrameWriter id(ExchangeId id) {
    return put(HeaderField.JOB, id.job())
        .put(HeaderField.WORKER, id.worker())
        .put(HeaderField.INCARNATION, id.incarnation())
        .put(HeaderField.EPOCH, id.epoch())
        .put(HeaderField.STEP, id.step())
        .put(HeaderField.PARTITION, id.partition());
  }

  /**
   * Sets the tensor's elements as the payload, in the tensor's encoding. {@code firstElement} is
   * the index of its first element.
   */
  FrameWriter tensor(long firstElement, TensorView tensor) {
    return put(HeaderField.FIRST_ELEMENT, firstElement)
        .put(HeaderField.ELEMENT_COUNT, tensor.length())
        .put(HeaderField.DATA_TYPE, tensor.type())
        .put(HeaderField.ENCODING, tensor.encoding())
        .payload(tensor.payload());
  }

  /** Sets the remaining bytes as the payload; the buffer must start at position 0. */
  FrameWriter payload(ByteBuffer bytes) {
    payload = bytes;
    return put(HeaderField.PAYLOAD_LENGTH, bytes.remaining());
  }

  /** Returns the frame without its checksum. */
  FrameBytes unsealed() {
    return new FrameBytes(header, payload);
  }

  /** Seals the frame and appends it to a message. */
  void appendTo(Buffer wire) {
    unsealed().seal(payload);
    int start = wire.length();
    // Write the payload first: the buffer then grows once, to its final size.
    wire.setBytes(start + HeaderField.HEADER_BYTES, payload);
    wire.setBytes(start, header);
  }

  /**
   * Computes the CRC-32C of the header and the payload. The checksum itself is the last field of
   * the header and is left out.
   */
  static long checksum(ByteBuffer header, ByteBuffer payload) {
    CRC32C checksum = new CRC32C();
    checksum.update(header.slice(0, HeaderField.CHECKSUM.offset()));
    checksum.update(payload.slice());
    return checksum.getValue();
  }
}
