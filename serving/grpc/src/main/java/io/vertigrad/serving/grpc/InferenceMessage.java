package io.vertigrad.serving.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import io.vertigrad.serving.internal.InferenceService.Body;
import io.vertigrad.serving.internal.InferenceService.Message;
import io.vertigrad.serving.internal.Refusal;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * A {@code ModelInferRequest}, and the {@code ModelInferResponse} to it. A request is turned into
 * the form of HTTP's extension for binary data, JSON and then the elements of all inputs, which
 * checks it; the response comes in that form, too. Outputs are raw if inputs were. One thread at a
 * time.
 */
final class InferenceMessage implements Message {

  /** Memory of an object of a request beside its texts: a tensor, a parameter, a text. */
  private static final long OBJECT_BYTES = 512;

  /** Memory of a character of a text: in the text, in the JSON, and in its bytes. */
  private static final long CHARACTER_BYTES = 8;

  /** One more dimension than any tensor may have, so that the reader of the JSON refuses it. */
  private static final int MOST_DIMENSIONS = 9;

  private static final String INPUTS = "inputs";
  private static final String OUTPUTS = "outputs";
  private static final String PARAMETERS = "parameters";
  private static final String NAME = "name";
  private static final String DATATYPE = "datatype";
  private static final String SHAPE = "shape";
  private static final String BINARY_SIZE = "binary_data_size";
  private static final String BINARY_DATA = "binary_data";
  private static final String BINARY_OUTPUT = "binary_data_output";
  private static final String ID = "id";
  private static final String BYTES = "BYTES";
  private static final int FP32_FIELD = 6;
  private static final int BYTES_FIELD = 8;

  private byte[] content;
  private final LongConsumer memory;
  private String model = "";
  private String version = "";
  private final JsonObject header = new JsonObject();
  private final JsonObject parameters = new JsonObject();
  private final List<Tensor> inputs = new ArrayList<>();
  private final JsonArray outputs = new JsonArray();
  private final List<ByteBuffer> raw = new ArrayList<>();
  private boolean typed;

  /** An input as a request has it. */
  private static final class Tensor {

    String name = "";
    String datatype = "";
    final JsonArray shape = new JsonArray();
    final JsonObject parameters = new JsonObject();

    /** The encoded {@code InferTensorContents}; several are one after another. */
    final List<ByteBuffer> contents = new ArrayList<>();
  }

  /** Reads one field; the stream is behind its tag. */
  @FunctionalInterface
  interface Field {

    /**
     * Reads a field.
     *
     * @return false to skip it, because it is not known
     */
    boolean read(CodedInputStream in, int tag) throws IOException;
  }

  /** Writes the fields of a message. */
  @FunctionalInterface
  interface Fields {
    void write(CodedOutputStream out) throws IOException;
  }

  /** The field of {@code InferTensorContents} that has the elements of a datatype. */
  private record Contents(int field, int bytes, int wireType, long least, long most) {

    static Contents of(String datatype) {
      return switch (datatype) {
        case "BOOL" -> of(1, 1, 0, 1);
        case "INT8" -> of(2, 1, Byte.MIN_VALUE, Byte.MAX_VALUE);
        case "INT16" -> of(2, 2, Short.MIN_VALUE, Short.MAX_VALUE);
        case "INT32" -> of(2, 4, Integer.MIN_VALUE, Integer.MAX_VALUE);
        case "INT64" -> of(3, 8, Long.MIN_VALUE, Long.MAX_VALUE);
        case "UINT8" -> of(4, 1, 0, 255);
        case "UINT16" -> of(4, 2, 0, 65_535);
        case "UINT32" -> of(4, 4, 0, 0xFFFF_FFFFL);
        case "UINT64" -> of(5, 8, Long.MIN_VALUE, Long.MAX_VALUE);
        case "FP32" -> new Contents(FP32_FIELD, 4, WireFormat.WIRETYPE_FIXED32, 0, 0);
        case "FP64" -> new Contents(7, 8, WireFormat.WIRETYPE_FIXED64, 0, 0);
        case BYTES -> new Contents(BYTES_FIELD, 0, WireFormat.WIRETYPE_LENGTH_DELIMITED, 0, 0);
        default -> null;
      };
    }

    private static Contents of(int field, int bytes, long least, long most) {
      return new Contents(field, bytes, WireFormat.WIRETYPE_VARINT, least, most);
    }
  }

  /**
   * Creates a request of an encoded message.
   *
   * @param content the message
   * @param memory is called with numbers of bytes before they are taken; may refuse
   */
  InferenceMessage(byte[] content, LongConsumer memory) {
    this.content = content;
    this.memory = memory;
  }

  @Override
  public Body read() {
    read("ModelInferRequest", stream(ByteBuffer.wrap(content)), this::field);
    if (!raw.isEmpty() && raw.size() != inputs.size()) {
      throw Refusal.invalid(
          "raw_input_contents: has %d elements, expected %d, one for each of inputs",
          raw.size(), inputs.size());
    }
    typed = raw.isEmpty();
    List<byte[]> parts = new ArrayList<>();
    JsonArray tensors = new JsonArray();
    for (int i = 0; i < inputs.size(); i++) {
      tensors.add(tensor(inputs.get(i), "inputs[%s]".formatted(i), i, parts));
    }
    header.put(INPUTS, tensors).put(PARAMETERS, parameters.put(BINARY_OUTPUT, true));
    if (!outputs.isEmpty()) {
      header.put(OUTPUTS, outputs);
    }
    byte[] json = header.encode().getBytes(StandardCharsets.UTF_8);
    long size = json.length;
    for (int i = 0; i < inputs.size(); i++) {
      size += typed ? parts.get(i).length : raw.get(i).remaining();
    }
    memory.accept(size);
    ByteBuffer body = ByteBuffer.allocate(Math.toIntExact(size)).put(json);
    for (int i = 0; i < inputs.size(); i++) {
      body.put(typed ? ByteBuffer.wrap(parts.get(i)) : raw.get(i).duplicate());
    }
    // The response needs none of these.
    content = new byte[0];
    inputs.clear();
    raw.clear();
    return new Body(model, version, body.array(), json.length);
  }

  private boolean field(CodedInputStream in, int tag) throws IOException {
    switch (tag) {
      case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> model = text(in);
      case 2 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> version = text(in);
      case 3 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
        String id = text(in);
        if (!id.isEmpty()) {
          header.put(ID, id);
        }
      }
      case 4 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> readParameter(in, parameters);
      case 5 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> readInput(in);
      case 6 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> readOutput(in);
      case 7 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
        memory.accept(OBJECT_BYTES);
        raw.add(in.readByteBuffer());
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private String text(CodedInputStream in) throws IOException {
    memory.accept(OBJECT_BYTES);
    String text = in.readStringRequireUtf8();
    memory.accept(CHARACTER_BYTES * text.length());
    return text;
  }

  private void readInput(CodedInputStream in) throws IOException {
    memory.accept(OBJECT_BYTES);
    Tensor tensor = new Tensor();
    message(
        in,
        (from, tag) -> {
          switch (tag) {
            case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> tensor.name = text(from);
            case 2 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> tensor.datatype = text(from);
            case 3 << 3 | WireFormat.WIRETYPE_VARINT -> addDimension(tensor, from.readInt64());
            case 3 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
              int limit = from.pushLimit(from.readRawVarint32());
              while (from.getBytesUntilLimit() > 0) {
                addDimension(tensor, from.readInt64());
              }
              from.popLimit(limit);
            }
            case 4 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED ->
                readParameter(from, tensor.parameters);
            case 5 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
              memory.accept(OBJECT_BYTES);
              tensor.contents.add(from.readByteBuffer());
            }
            default -> {
              return false;
            }
          }
          return true;
        });
    inputs.add(tensor);
  }

  private static void addDimension(Tensor tensor, long dimension) {
    if (tensor.shape.size() < MOST_DIMENSIONS) {
      tensor.shape.add(dimension);
    }
  }

  private void readOutput(CodedInputStream in) throws IOException {
    memory.accept(OBJECT_BYTES);
    JsonObject output = new JsonObject();
    JsonObject own = new JsonObject();
    output.put(NAME, "").put(PARAMETERS, own);
    message(
        in,
        (from, tag) -> {
          switch (tag) {
            case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> output.put(NAME, text(from));
            case 2 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> readParameter(from, own);
            default -> {
              return false;
            }
          }
          return true;
        });
    own.put(BINARY_DATA, true);
    outputs.add(output);
  }

  /** Reads an entry of a map of {@code InferParameter}. */
  private void readParameter(CodedInputStream in, JsonObject to) throws IOException {
    memory.accept(OBJECT_BYTES);
    String[] key = {""};
    Object[] value = {null};
    message(
        in,
        (from, tag) -> {
          switch (tag) {
            case 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> key[0] = text(from);
            case 2 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED ->
                message(
                    from,
                    (choice, kind) -> {
                      Object read = parameter(choice, kind);
                      value[0] = read == null ? value[0] : read;
                      return read != null;
                    });
            default -> {
              return false;
            }
          }
          return true;
        });
    if (value[0] != null) {
      to.put(key[0], value[0]);
    }
  }

  /** Reads the value of an {@code InferParameter}; null if its kind is not known. */
  private Object parameter(CodedInputStream in, int tag) throws IOException {
    return switch (tag) {
      case 1 << 3 | WireFormat.WIRETYPE_VARINT -> in.readBool();
      case 2 << 3 | WireFormat.WIRETYPE_VARINT -> in.readInt64();
      case 3 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED -> text(in);
      case 4 << 3 | WireFormat.WIRETYPE_FIXED64 -> {
        double value = in.readDouble();
        if (!Double.isFinite(value)) {
          throw Refusal.invalid("parameters: has %s, expected finite numbers", value);
        }
        yield value;
      }
      case 5 << 3 | WireFormat.WIRETYPE_VARINT -> {
        long bits = in.readUInt64();
        yield bits >= 0 ? (Object) bits : new BigInteger(Long.toUnsignedString(bits));
      }
      default -> null;
    };
  }

  /** Returns what the JSON says about an input; its typed elements are added to the parts. */
  private JsonObject tensor(Tensor tensor, String where, int index, List<byte[]> parts) {
    int size;
    if (typed) {
      byte[] elements = elements(tensor, where);
      parts.add(elements);
      size = elements.length;
    } else if (tensor.contents.stream().anyMatch(ByteBuffer::hasRemaining)) {
      throw Refusal.invalid(
          "%s: has contents beside raw_input_contents, expected one of both", where);
    } else {
      size = raw.get(index).remaining();
    }
    return new JsonObject()
        .put(NAME, tensor.name)
        .put(DATATYPE, tensor.datatype)
        .put(SHAPE, tensor.shape)
        .put(PARAMETERS, tensor.parameters.put(BINARY_SIZE, size));
  }

  /** Returns the elements of typed contents in binary form. */
  private byte[] elements(Tensor tensor, String where) {
    Contents type = Contents.of(tensor.datatype);
    boolean filled = tensor.contents.stream().anyMatch(ByteBuffer::hasRemaining);
    if (type == null) {
      if (filled && List.of("FP16", "BF16").contains(tensor.datatype)) {
        throw Refusal.invalid(
            "%s.contents: has no field for %s, expected raw_input_contents",
            where, tensor.datatype);
      }
      // The datatype is refused where the JSON is read.
      return new byte[0];
    }
    long[] size = {0};
    readContents(tensor, where, type, null, size);
    memory.accept(size[0]);
    ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(size[0])).order(ByteOrder.LITTLE_ENDIAN);
    readContents(tensor, where, type, out, size);
    return out.array();
  }

  /**
   * Reads contents.
   *
   * @param out gets the elements; null to count their bytes only
   */
  private static void readContents(
      Tensor tensor, String where, Contents type, ByteBuffer out, long[] size) {
    int element = type.field() << 3 | type.wireType();
    int packed = type.field() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
    for (ByteBuffer each : tensor.contents) {
      read(
          where + ".contents",
          stream(each.duplicate()),
          (in, tag) -> {
            if (tag == element) {
              readElement(in, type, where, out, size);
            } else if (tag == packed) {
              int limit = in.pushLimit(in.readRawVarint32());
              while (in.getBytesUntilLimit() > 0) {
                readElement(in, type, where, out, size);
              }
              in.popLimit(limit);
            } else if (WireFormat.getTagFieldNumber(tag) <= BYTES_FIELD) {
              throw Refusal.invalid(
                  "%s.contents: has field %d, expected only field %d, that of %s",
                  where, WireFormat.getTagFieldNumber(tag), type.field(), tensor.datatype);
            } else {
              return false;
            }
            return true;
          });
    }
  }

  private static void readElement(
      CodedInputStream in, Contents type, String where, ByteBuffer out, long[] size)
      throws IOException {
    if (type.field() == BYTES_FIELD) {
      ByteBuffer text = in.readByteBuffer();
      if (out == null) {
        size[0] += Integer.BYTES + text.remaining();
      } else {
        out.putInt(text.remaining()).put(text);
      }
      return;
    }
    long value =
        switch (type.wireType()) {
          case WireFormat.WIRETYPE_FIXED32 -> in.readRawLittleEndian32();
          case WireFormat.WIRETYPE_FIXED64 -> in.readRawLittleEndian64();
          // A negative int32 is sent in ten bytes, as an int64.
          default -> in.readRawVarint64();
        };
    if (type.wireType() == WireFormat.WIRETYPE_VARINT
        && (value < type.least() || value > type.most())) {
      throw Refusal.invalid(
          "%s.contents: has %d, expected whole numbers from %d to %d",
          where, value, type.least(), type.most());
    }
    if (out == null) {
      size[0] += type.bytes();
      return;
    }
    switch (type.bytes()) {
      case 1 -> out.put((byte) value);
      case 2 -> out.putShort((short) value);
      case 4 -> out.putInt((int) value);
      default -> out.putLong(value);
    }
  }

  @Override
  public Buffer write(JsonObject response, Buffer binary) {
    JsonArray tensors = response.getJsonArray(OUTPUTS);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(binary.length() + 1024);
    write(
        bytes,
        out -> {
          out.writeString(1, response.getString("model_name"));
          out.writeString(2, response.getString("model_version"));
          if (response.containsKey(ID)) {
            out.writeString(3, response.getString(ID));
          }
          for (String key : response.getJsonObject(PARAMETERS).fieldNames()) {
            long value = response.getJsonObject(PARAMETERS).getLong(key);
            byte[] choice = bytes(inner -> inner.writeInt64(2, value));
            message(
                out,
                4,
                entry -> {
                  entry.writeString(1, key);
                  entry.writeByteArray(2, choice);
                });
          }
          int at = 0;
          for (int i = 0; i < tensors.size(); i++) {
            JsonObject tensor = tensors.getJsonObject(i);
            int size = tensor.getJsonObject(PARAMETERS).getInteger(BINARY_SIZE);
            byte[] elements = typed ? binary.getBytes(at, at + size) : new byte[0];
            at += size;
            message(
                out,
                5,
                inner -> {
                  writeMetadata(inner, tensor);
                  if (typed) {
                    writeContents(inner, tensor.getString(DATATYPE), elements);
                  }
                });
          }
          at = 0;
          for (int i = 0; !typed && i < tensors.size(); i++) {
            int size = tensors.getJsonObject(i).getJsonObject(PARAMETERS).getInteger(BINARY_SIZE);
            out.writeByteArray(6, binary.getBytes(at, at + size));
            at += size;
          }
        });
    return Buffer.buffer(bytes.toByteArray());
  }

  /** Writes name, datatype and shape of a tensor, the first three fields in every message. */
  static void writeMetadata(CodedOutputStream out, JsonObject tensor) throws IOException {
    out.writeString(1, tensor.getString(NAME));
    out.writeString(2, tensor.getString(DATATYPE));
    JsonArray shape = tensor.getJsonArray(SHAPE);
    message(
        out,
        3,
        packed -> {
          for (int i = 0; i < shape.size(); i++) {
            packed.writeInt64NoTag(shape.getLong(i));
          }
        });
  }

  /** Writes the elements of an output, FP32 or BYTES, from their binary form. */
  private static void writeContents(CodedOutputStream out, String datatype, byte[] elements)
      throws IOException {
    byte[] contents =
        bytes(
            inner -> {
              if (datatype.equals(BYTES)) {
                ByteBuffer in = ByteBuffer.wrap(elements).order(ByteOrder.LITTLE_ENDIAN);
                while (in.hasRemaining()) {
                  int length = in.getInt();
                  inner.writeBytes(
                      BYTES_FIELD, ByteString.copyFrom(elements, in.position(), length));
                  in.position(in.position() + length);
                }
              } else {
                // Packed floats have the same form.
                inner.writeByteArray(FP32_FIELD, elements);
              }
            });
    out.writeByteArray(5, contents);
  }

  /** Returns a stream that gives parts of the bytes, not copies. */
  static CodedInputStream stream(ByteBuffer bytes) {
    CodedInputStream in =
        CodedInputStream.newInstance(
            bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
    in.enableAliasing(true);
    return in;
  }

  /**
   * Reads all fields of a message; those that are not known are skipped.
   *
   * @param what names the message in errors
   * @throws Refusal if the bytes are no message
   */
  static void read(String what, CodedInputStream in, Field field) {
    try {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (!field.read(in, tag)) {
          in.skipField(tag);
        }
      }
    } catch (InvalidProtocolBufferException wrong) {
      throw Refusal.invalid("message: is no %s: %s", what, wrong.getMessage());
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /** Reads a message within another one. */
  private static void message(CodedInputStream in, Field field) throws IOException {
    int limit = in.pushLimit(in.readRawVarint32());
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (!field.read(in, tag)) {
        in.skipField(tag);
      }
    }
    in.checkLastTagWas(0);
    in.popLimit(limit);
  }

  /** Writes a message within another one. */
  static void message(CodedOutputStream out, int number, Fields fields) throws IOException {
    out.writeByteArray(number, bytes(fields));
  }

  /** Returns an encoded message. */
  static byte[] bytes(Fields fields) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    write(bytes, fields);
    return bytes.toByteArray();
  }

  private static void write(ByteArrayOutputStream bytes, Fields fields) {
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      fields.write(out);
      out.flush();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }
}
