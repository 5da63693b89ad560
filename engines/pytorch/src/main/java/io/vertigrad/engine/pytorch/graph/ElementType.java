package io.vertigrad.engine.pytorch.graph;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** A type of numbers, by the names and numbers that the formats and ATen have for it. */
enum ElementType {
  UINT8(1, 0, 1, "ByteStorage"),
  INT8(2, 1, 1, "CharStorage"),
  INT16(3, 2, 2, "ShortStorage"),
  INT32(4, 3, 4, "IntStorage"),
  INT64(5, 4, 8, "LongStorage"),
  FLOAT16(6, 5, 2, "HalfStorage"),
  FLOAT32(7, 6, 4, "FloatStorage"),
  FLOAT64(8, 7, 8, "DoubleStorage"),
  COMPLEX32(9, 8, 4, ""),
  COMPLEX64(10, 9, 8, "ComplexFloatStorage"),
  COMPLEX128(11, 10, 16, "ComplexDoubleStorage"),
  BOOL(12, 11, 1, "BoolStorage"),
  BFLOAT16(13, 15, 2, "BFloat16Storage"),
  UINT16(28, 27, 2, ""),
  FLOAT8_E4M3FN(29, 24, 1, ""),
  FLOAT8_E5M2(30, 23, 1, ""),
  FLOAT8_E4M3FNUZ(31, 26, 1, ""),
  FLOAT8_E5M2FNUZ(32, 25, 1, ""),
  FLOAT8_E8M0FNU(33, 44, 1, ""),
  UINT32(34, 28, 4, ""),
  UINT64(35, 29, 8, "");

  private final int schema;
  private final int aten;
  private final int bytes;
  private final String storage;

  ElementType(int schema, int aten, int bytes, String storage) {
    this.schema = schema;
    this.aten = aten;
    this.bytes = bytes;
    this.storage = storage;
  }

  /** Finds the type that the schema of {@code torch.export} has under a number. */
  static Optional<ElementType> ofSchema(long number) {
    return Arrays.stream(values()).filter(type -> type.schema == number).findFirst();
  }

  /** Finds the type that ATen has under a number. */
  static Optional<ElementType> ofAten(int number) {
    return Arrays.stream(values()).filter(type -> type.aten == number).findFirst();
  }

  /** Finds the type of a storage class of {@code torch.save}. */
  static Optional<ElementType> ofStorage(String name) {
    return Arrays.stream(values())
        .filter(type -> !name.isEmpty() && type.storage.equals(name))
        .findFirst();
  }

  /** Returns the number in the schema. */
  int schema() {
    return schema;
  }

  /** Returns the number in ATen's {@code ScalarType}. */
  int aten() {
    return aten;
  }

  /** Returns the length of an element. */
  int bytes() {
    return bytes;
  }

  /** Returns the name in messages, such as {@code float32}. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
