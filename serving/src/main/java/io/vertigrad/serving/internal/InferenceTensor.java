package io.vertigrad.serving.internal;

import com.fasterxml.jackson.core.JsonToken;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * An input tensor of the Open Inference Protocol: what a request says about it, and where its
 * elements are. They are read once, when name and shape are known to be right.
 *
 * @param where how errors name it, such as {@code inputs[0]}
 * @param name the tensor's name
 * @param type its data type
 * @param shape its dimensions, one to eight
 * @param binary whether its elements are binary data
 * @param from index of the first byte of its binary data, or of its array in the JSON
 * @param to index behind the last byte of its binary data, or of the JSON
 */
record InferenceTensor(
    String where, String name, Type type, int[] shape, boolean binary, int from, int to) {

  static final int MOST_DIMENSIONS = 8;

  /** The least magnitudes that are rounded to infinity. */
  private static final double FLOAT16_BOUND = 65_520;

  private static final double BFLOAT16_BOUND = 0x1.FFp127;

  /** A short text on the heap; a long one takes no more than its bytes in the body. */
  private static final long TEXT_BYTES = 64;

  private static final long HALF_BYTES = Float.BYTES + Short.BYTES;

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
    FP16(2),
    BF16(2),
    FP32(4),
    FP64(8),
    /** Texts; in binary form each has its length before it. */
    BYTES(0);

    private final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }

    static Optional<Type> of(String name) {
      return Arrays.stream(values()).filter(type -> type.name().equals(name)).findFirst();
    }

    /** Returns whether the elements are whole numbers. */
    boolean isWhole() {
      return this != BOOL && ordinal() < FP16.ordinal();
    }

    private boolean isUnsigned() {
      return ordinal() <= UINT64.ordinal();
    }

    /** Returns the number of bits of a whole number's magnitude. */
    private int bits() {
      return bytes * Byte.SIZE - (isUnsigned() ? 0 : 1);
    }

    private BigInteger most() {
      return BigInteger.ONE.shiftLeft(bits()).subtract(BigInteger.ONE);
    }

    private BigInteger least() {
      return isUnsigned() ? BigInteger.ZERO : most().not();
    }

    private Optional<DataType> half() {
      return switch (this) {
        case FP16 -> Optional.of(DataType.FLOAT16);
        case BF16 -> Optional.of(DataType.BFLOAT16);
        default -> Optional.empty();
      };
    }

    private double read(ByteBuffer in) {
      return switch (this) {
        case BOOL, UINT8 -> in.get() & 0xFF;
        case UINT16 -> in.getShort() & 0xFFFF;
        case UINT32 -> in.getInt() & 0xFFFF_FFFFL;
        case UINT64 -> unsigned(in.getLong());
        case INT8 -> in.get();
        case INT16 -> in.getShort();
        case INT32 -> in.getInt();
        case INT64 -> in.getLong();
        case FP32 -> in.getFloat();
        case FP64 -> in.getDouble();
        case FP16, BF16, BYTES -> throw new IllegalArgumentException(this + " is read at once");
      };
    }

    private static double unsigned(long bits) {
      return bits >= 0 ? bits : (bits >>> 1 | bits & 1) * 2.0;
    }
  }

  /** Receives numbers in row-major order. */
  @FunctionalInterface
  interface Numbers {
    void put(int index, double value);
  }

  /** Reads one element of an array in JSON. */
  @FunctionalInterface
  private interface Element {
    void read(RequestJson json, int index);
  }

  /** Returns the number of elements; shapes are checked before. */
  int count() {
    int count = 1;
    for (int dimension : shape) {
      count = Math.multiplyExact(count, dimension);
    }
    return count;
  }

  /** Returns how many bytes of memory an element takes while it is read, beside its number. */
  long decodingBytes() {
    return type == Type.BYTES ? TEXT_BYTES : type.half().isPresent() ? HALF_BYTES : 0;
  }

  /** Returns the shape as a request has it. */
  String shown() {
    return Arrays.toString(shape);
  }

  /**
   * Reads the elements, which are numbers, and finite in single precision.
   *
   * @param body the request
   * @throws Refusal naming the first element that is not of the type
   */
  void numbers(byte[] body, Numbers numbers) {
    Optional<DataType> half = type.half();
    if (half.isPresent()) {
      halves(body, half.get(), numbers);
    } else if (binary) {
      ByteBuffer in = fixedSize(body);
      boolean flag = type == Type.BOOL;
      for (int i = 0; in.hasRemaining(); i++) {
        double value = type.read(in);
        if (flag && value > 1) {
          throw wrong(i, Integer.toString((int) value), "0 or 1");
        }
        numbers.put(i, finite(i, value));
      }
    } else {
      ofJson(body, (json, index) -> numbers.put(index, finite(index, number(json, index))));
    }
  }

  /** Reads elements of half precision: those in JSON are rounded to it, too. */
  private void halves(byte[] body, DataType half, Numbers numbers) {
    float[] values = new float[count()];
    Tensor exact;
    if (binary) {
      exact = Tensor.wrap(half, fixedSize(body));
    } else {
      double bound = half == DataType.FLOAT16 ? FLOAT16_BOUND : BFLOAT16_BOUND;
      ofJson(
          body,
          (json, index) -> {
            double value = number(json, index);
            if (Math.abs(value) >= bound) {
              throw wrong(index, json.shown(), "a finite number in the range of " + type);
            }
            values[index] = (float) value;
          });
      exact = Tensor.copyOf(half, FloatBuffer.wrap(values));
    }
    exact.copyTo(values, 0);
    for (int i = 0; i < values.length; i++) {
      numbers.put(i, finite(i, values[i]));
    }
  }

  private double finite(int index, double value) {
    if (!Float.isFinite((float) value)) {
      throw wrong(
          index,
          Double.toString(value),
          "a finite number" + (type == Type.FP64 ? " in the range of FP32" : ""));
    }
    return value;
  }

  private double number(RequestJson json, int index) {
    JsonToken token = json.token();
    if (type == Type.BOOL) {
      if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
        throw wrong(index, json.shown(), "true or false");
      }
      return token == JsonToken.VALUE_TRUE ? 1 : 0;
    }
    if (!token.isNumeric()) {
      throw wrong(index, json.shown(), "a number");
    }
    if (type.isWhole()) {
      return whole(json, index);
    }
    double value = json.number();
    if (!Float.isFinite((float) value)) {
      throw wrong(index, json.shown(), "a finite number in the range of FP32");
    }
    return value;
  }

  private double whole(RequestJson json, int index) {
    double value;
    boolean fits;
    if (json.isLong()) {
      long exact = json.longValue();
      long magnitude = exact < 0 ? ~exact : exact;
      value = exact;
      fits =
          (exact >= 0 || !type.isUnsigned())
              && (type.bits() >= Long.SIZE - 1 || magnitude >>> type.bits() == 0);
    } else if (json.isInteger()) {
      BigInteger exact = json.bigInteger();
      value = exact.doubleValue();
      fits = exact.signum() > 0 && exact.compareTo(type.most()) <= 0;
    } else {
      value = json.number();
      double bound = Math.scalb(1.0, type.bits());
      fits =
          value == Math.rint(value) && value < bound && value >= (type.isUnsigned() ? 0 : -bound);
    }
    if (!fits) {
      throw wrong(
          index,
          json.shown(),
          "a whole number from %s to %s (%s)".formatted(type.least(), type.most(), type));
    }
    return value;
  }

  private Refusal wrong(int index, String found, String expected) {
    return Refusal.invalid("%s.data[%d]: is %s, expected %s", where, index, found, expected);
  }

  /** Reads the elements, which are texts. */
  String[] texts(byte[] body) {
    String[] texts = new String[count()];
    if (!binary) {
      ofJson(
          body,
          (json, index) -> {
            texts[index] = json.text();
            if (texts[index] == null) {
              throw wrong(index, json.shown(), "a text");
            }
          });
      return texts;
    }
    ByteBuffer in = ByteBuffer.wrap(body, from, to - from).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < texts.length; i++) {
      long length = in.remaining() < Integer.BYTES ? -1 : in.getInt() & 0xFFFF_FFFFL;
      if (length < 0 || length > in.remaining()) {
        throw Refusal.invalid(
            "%s: its binary data end within text %d, expected %d texts, as its shape %s says",
            where, i, texts.length, shown());
      }
      ByteBuffer bytes = in.slice().limit((int) length);
      try {
        texts[i] = StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
      } catch (CharacterCodingException e) {
        throw Refusal.invalid("%s.data[%d]: is not UTF-8, expected a text", where, i);
      }
      in.position(in.position() + (int) length);
    }
    if (in.hasRemaining()) {
      throw Refusal.invalid(
          "%s: has %d bytes of binary data behind its texts, expected %d texts, as its shape %s says",
          where, in.remaining(), texts.length, shown());
    }
    return texts;
  }

  private ByteBuffer fixedSize(byte[] body) {
    long expected = (long) type.bytes * count();
    if (to - from != expected) {
      throw Refusal.invalid(
          "%s: has %d bytes of binary data, expected %d: %s of shape %s",
          where, to - from, expected, type, shown());
    }
    return ByteBuffer.wrap(body, from, to - from).slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Reads an array of the elements: all in one array, or in arrays within arrays as the first
   * dimensions say.
   */
  private void ofJson(byte[] body, Element element) {
    try (RequestJson json = RequestJson.of(body, from, to)) {
      json.next();
      int[] found = new int[shape.length + 1];
      int level = 1;
      int innermost = 0;
      int index = 0;
      while (level > 0) {
        JsonToken token = json.next();
        if (token == JsonToken.END_ARRAY) {
          requireCount(level, innermost, found[level]);
          level--;
        } else if (token == JsonToken.START_ARRAY) {
          if (level == innermost || level == shape.length) {
            throw wrong(index, "an array", "an element: its shape is " + shown());
          }
          requireRoom(level, found[level], shape[level - 1]);
          found[level]++;
          level++;
          found[level] = 0;
        } else {
          innermost = innermost == 0 ? level : innermost;
          if (level != innermost) {
            throw wrong(index, json.shown(), "an array, as before it");
          }
          requireRoom(level, found[level], elements(level));
          found[level]++;
          element.read(json, index);
          index++;
        }
      }
    }
  }

  private void requireRoom(int level, int found, int most) {
    if (found == most) {
      throw Refusal.invalid(
          "%s.data: %s has more than %d elements, expected %d, as its shape %s says",
          where, array(level), most, most, shown());
    }
  }

  private void requireCount(int level, int innermost, int found) {
    int expected = level == innermost ? elements(level) : shape[level - 1];
    if (found != expected) {
      throw Refusal.invalid(
          "%s.data: %s has %d elements, expected %d, as its shape %s says",
          where, array(level), found, innermost == 0 ? elements(level) : expected, shown());
    }
  }

  private static String array(int level) {
    return level == 1 ? "the array" : "an array at level " + level;
  }

  /** Returns the number of elements of an array at a level, of which level 1 is the outermost. */
  private int elements(int level) {
    int elements = 1;
    for (int i = level - 1; i < shape.length; i++) {
      elements *= shape[i];
    }
    return elements;
  }
}
