package io.vertigrad.serving.internal;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A tensor of the Open Inference Protocol: in JSON, or in binary form behind the JSON.
 *
 * @param name the tensor's name
 * @param type its data type
 * @param shape its dimensions
 * @param values its elements, row by row: {@code Float}, {@code Double}, {@code Long}, {@code
 *     Boolean} or {@code String}
 */
record InferenceTensor(String name, Type type, List<Long> shape, List<Object> values) {

  private static final String SHAPE = "shape";
  private static final String DATA = "data";

  /** The data types that are read. */
  enum Type {
    BOOL(1),
    UINT8(1),
    UINT16(2),
    UINT32(4),
    UINT64(8),
    INT8(1),
    INT16(2),
    INT32(4),
    INT64(8),
    FP32(4),
    FP64(8),
    /** Texts; in binary form each has its length before it. */
    BYTES(0);

    private final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }

    Object read(Buffer buffer, int at) {
      return switch (this) {
        case BOOL -> buffer.getByte(at) != 0;
        case UINT8 -> (long) buffer.getUnsignedByte(at);
        case UINT16 -> (long) buffer.getUnsignedShortLE(at);
        case UINT32 -> buffer.getUnsignedIntLE(at);
        case UINT64, INT64 -> buffer.getLongLE(at);
        case INT8 -> (long) buffer.getByte(at);
        case INT16 -> (long) buffer.getShortLE(at);
        case INT32 -> (long) buffer.getIntLE(at);
        case FP32 -> Float.intBitsToFloat(buffer.getIntLE(at));
        case FP64 -> Double.longBitsToDouble(buffer.getLongLE(at));
        case BYTES -> throw new IllegalArgumentException("texts have no fixed size");
      };
    }
  }

  /**
   * Reads an input.
   *
   * @param where how errors name it, such as {@code inputs[0]}
   * @param json the tensor as in the request
   * @param binary its binary data; null if it has data in JSON
   */
  static InferenceTensor read(String where, JsonObject json, Buffer binary) {
    if (!(json.getValue("name") instanceof String name)) {
      throw Refusal.invalid(
          "%s.name: is %s, expected a text", where, SampleFormat.shown(json.getValue("name")));
    }
    Type type = type(where, json.getValue("datatype"));
    List<Long> shape = shape(where, json.getValue(SHAPE));
    long count = 1;
    for (long dimension : shape) {
      count = count * dimension;
      if (count > Integer.MAX_VALUE) {
        throw Refusal.invalid("%s.shape: is %s, expected fewer elements", where, shape);
      }
    }
    List<Object> values =
        binary == null ? ofJson(where, type, json.getValue(DATA)) : ofBinary(where, type, binary);
    if (values.size() != count) {
      throw Refusal.invalid(
          "%s: has %d elements, expected %d, as its shape %s says",
          where, values.size(), count, shape);
    }
    return new InferenceTensor(name, type, shape, values);
  }

  private static Type type(String where, Object found) {
    for (Type type : Type.values()) {
      if (type.name().equals(found)) {
        return type;
      }
    }
    throw Refusal.invalid(
        "%s.datatype: is %s, expected one of %s",
        where, SampleFormat.shown(found), List.of(Type.values()));
  }

  private static List<Long> shape(String where, Object found) {
    List<Long> shape = new ArrayList<>();
    if (found instanceof JsonArray array) {
      for (Object dimension : array) {
        if (!(dimension instanceof Number number)
            || number.doubleValue() != Math.rint(number.doubleValue())
            || number.longValue() < 1
            || number.longValue() > Integer.MAX_VALUE) {
          throw Refusal.invalid(
              "%s.shape: has %s, expected whole numbers from 1",
              where, SampleFormat.shown(dimension));
        }
        shape.add(number.longValue());
      }
    }
    if (shape.isEmpty()) {
      throw Refusal.invalid(
          "%s.shape: is %s, expected an array of dimensions", where, SampleFormat.shown(found));
    }
    return shape;
  }

  private static List<Object> ofJson(String where, Type type, Object data) {
    if (!(data instanceof JsonArray array)) {
      throw Refusal.invalid(
          "%s.data: is %s, expected an array, or binary_data_size in its parameters",
          where, SampleFormat.shown(data));
    }
    List<Object> values = new ArrayList<>();
    addAll(where, type, array, values);
    return values;
  }

  private static void addAll(String where, Type type, JsonArray array, List<Object> values) {
    for (int i = 0; i < array.size(); i++) {
      Object value = array.getValue(i);
      if (value instanceof JsonArray inner) {
        addAll(where, type, inner, values);
      } else {
        values.add(checked(where, type, value, values.size()));
      }
    }
  }

  private static Object checked(String where, Type type, Object value, int index) {
    boolean fits =
        switch (type) {
          case BYTES -> value instanceof String;
          case BOOL -> value instanceof Boolean;
          default -> value instanceof Number;
        };
    if (!fits) {
      throw Refusal.invalid(
          "%s.data[%d]: is %s, expected %s",
          where,
          index,
          SampleFormat.shown(value),
          type == Type.BYTES ? "a text" : type == Type.BOOL ? "true or false" : "a number");
    }
    boolean whole = type.ordinal() < Type.FP32.ordinal() && type != Type.BOOL;
    if (whole && value instanceof Number number) {
      double exact = number.doubleValue();
      if (exact != Math.rint(exact)) {
        throw Refusal.invalid("%s.data[%d]: is %s, expected a whole number", where, index, value);
      }
      return number.longValue();
    }
    return value;
  }

  private static List<Object> ofBinary(String where, Type type, Buffer binary) {
    List<Object> values = new ArrayList<>();
    if (type == Type.BYTES) {
      int at = 0;
      while (at < binary.length()) {
        long length = at + Integer.BYTES <= binary.length() ? binary.getUnsignedIntLE(at) : -1;
        if (length < 0 || at + Integer.BYTES + length > binary.length()) {
          throw Refusal.invalid(
              "%s: its binary data end within a text, at byte %d of %d",
              where, at, binary.length());
        }
        at += Integer.BYTES;
        values.add(binary.getString(at, at + (int) length, StandardCharsets.UTF_8.name()));
        at += (int) length;
      }
      return values;
    }
    if (binary.length() % type.bytes != 0) {
      throw Refusal.invalid(
          "%s: has %d bytes of binary data, expected a multiple of %d for %s",
          where, binary.length(), type.bytes, type);
    }
    for (int at = 0; at < binary.length(); at += type.bytes) {
      values.add(type.read(binary, at));
    }
    return values;
  }

  /**
   * Writes an output into a response.
   *
   * @param binary receives the elements if they are not to be in the JSON; else null
   */
  JsonObject write(Buffer binary) {
    JsonArray dimensions = new JsonArray();
    shape.forEach(dimensions::add);
    JsonObject json =
        new JsonObject()
            .put("name", name)
            .put("datatype", type.name().toUpperCase(Locale.ROOT))
            .put(SHAPE, dimensions);
    if (binary == null) {
      return json.put(DATA, new JsonArray(values));
    }
    int before = binary.length();
    for (Object value : values) {
      if (value instanceof String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        binary.appendIntLE(bytes.length).appendBytes(bytes);
      } else {
        binary.appendIntLE(Float.floatToRawIntBits((Float) value));
      }
    }
    return json.put(
        "parameters", new JsonObject().put("binary_data_size", binary.length() - before));
  }
}
