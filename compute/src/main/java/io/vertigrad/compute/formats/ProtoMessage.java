package io.vertigrad.compute.formats;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Writes one protocol-buffers message field by field, for formats that need only a few messages.
 * Not thread-safe.
 */
public final class ProtoMessage {

  private final ByteString.Output bytes = ByteString.newOutput();
  private final CodedOutputStream out = CodedOutputStream.newInstance(bytes);

  /** Writes one field. */
  private interface Field {
    void write() throws IOException;
  }

  /**
   * Adds a whole number, of one of the types int32, int64 and enum.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage integer(int field, long value) {
    return add(() -> out.writeInt64(field, value));
  }

  /**
   * Adds whole numbers, packed into one field.
   *
   * @param field number of the field
   * @param values of the field
   * @return this message
   */
  public ProtoMessage integers(int field, long... values) {
    ProtoMessage packed = new ProtoMessage();
    for (long value : values) {
      packed.add(() -> packed.out.writeInt64NoTag(value));
    }
    return message(field, packed);
  }

  /**
   * Adds a number in single precision.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage single(int field, float value) {
    return add(() -> out.writeFloat(field, value));
  }

  /**
   * Adds a number in double precision.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage real(int field, double value) {
    return add(() -> out.writeDouble(field, value));
  }

  /**
   * Adds a text.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage text(int field, String value) {
    return add(() -> out.writeString(field, value));
  }

  /**
   * Adds bytes.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage bytes(int field, byte[] value) {
    return add(() -> out.writeByteArray(field, value));
  }

  /**
   * Adds another message, which must be complete.
   *
   * @param field number of the field
   * @param value of the field
   * @return this message
   */
  public ProtoMessage message(int field, ProtoMessage value) {
    return add(() -> out.writeBytes(field, value.content()));
  }

  /**
   * Adds all fields of another message to this one.
   *
   * @param fields that message, which must be complete
   * @return this message
   */
  public ProtoMessage append(ProtoMessage fields) {
    return add(() -> out.writeRawBytes(fields.toBytes()));
  }

  /**
   * Encodes the message.
   *
   * @return its bytes
   */
  public byte[] toBytes() {
    return content().toByteArray();
  }

  private ByteString content() {
    add(out::flush);
    return bytes.toByteString();
  }

  private ProtoMessage add(Field field) {
    try {
      field.write();
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException("a message in memory could not be written", e);
    }
  }
}
