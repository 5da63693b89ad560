package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/** One frame being written: header fields in any order, one payload, then {@link #appendTo}. */
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

  /** The tensor's elements as payload, in its encoding, from {@code firstElement} on. */
  FrameWriter tensor(long firstElement, TensorView tensor) {
    return put(HeaderField.FIRST_ELEMENT, firstElement)
        .put(HeaderField.ELEMENT_COUNT, tensor.length())
        .put(HeaderField.DATA_TYPE, tensor.type())
        .put(HeaderField.ENCODING, tensor.encoding())
        .payload(tensor.payload());
  }

  /** What remains of {@code bytes}, which starts at position 0. */
  FrameWriter payload(ByteBuffer bytes) {
    payload = bytes;
    return put(HeaderField.PAYLOAD_LENGTH, bytes.remaining());
  }

  /** The frame without its checksum. */
  FrameBytes unsealed() {
    return new FrameBytes(header, payload);
  }

  /** Seals the frame and appends it to a message. */
  void appendTo(Buffer wire) {
    unsealed().seal(payload);
    int start = wire.length();
    // The payload first: the buffer then grows once, to its final size.
    wire.setBytes(start + HeaderField.HEADER_BYTES, payload);
    wire.setBytes(start, header);
  }

  /** CRC-32C of the header without the checksum itself, which is last, and of the payload. */
  static long checksum(ByteBuffer header, ByteBuffer payload) {
    CRC32C checksum = new CRC32C();
    checksum.update(header.slice(0, HeaderField.CHECKSUM.offset()));
    checksum.update(payload.slice());
    return checksum.getValue();
  }
}
