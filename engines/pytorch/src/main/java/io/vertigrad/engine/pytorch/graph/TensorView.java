package io.vertigrad.engine.pytorch.graph;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * How a tensor lies in a storage.
 *
 * @param type of its elements
 * @param shape its dimensions
 * @param strides elements from one index to the next, by dimension
 * @param offset elements before its first
 * @param trained whether gradients are computed for it
 */
record TensorView(
    ElementType type, List<Long> shape, List<Long> strides, long offset, boolean trained) {

  /** The number of dense tensors in the schema's {@code Layout}. */
  static final int STRIDED = 7;

  /**
   * Checks that the numbers describe a tensor, and that its elements can be counted.
   *
   * @throws ArchiveException when they do not
   */
  static TensorView of(
      ElementType type, List<Long> shape, List<Long> strides, long offset, boolean trained)
      throws ArchiveException {
    TensorView view =
        new TensorView(type, List.copyOf(shape), List.copyOf(strides), offset, trained);
    boolean negative =
        shape.stream().anyMatch(one -> one < 0) || strides.stream().anyMatch(one -> one < 0);
    if (negative || offset < 0 || shape.size() != strides.size()) {
      throw view.impossible();
    }
    view.bytes();
    view.storageBytes();
    return view;
  }

  /** Reads {@code TensorMeta} of the schema, of a tensor with a fixed shape. */
  static TensorView of(JsonValue meta) throws ArchiveException {
    long layout = meta.get("layout").integer();
    if (layout != STRIDED) {
      throw meta.get("layout").other(STRIDED + ", a dense tensor: store it with to_dense()");
    }
    List<Long> shape = numbers(meta.get("sizes"));
    List<Long> strides = numbers(meta.get("strides"));
    long offset = number(meta.get("storage_offset"));
    boolean trained = meta.get("requires_grad").truth();
    try {
      return of(type(meta.get("dtype")), shape, strides, offset, trained);
    } catch (ArchiveException e) {
      throw new ArchiveException("%s is %s".formatted(meta.path(), e.getMessage()));
    }
  }

  /** Reads a number of the schema's {@code ScalarType}. */
  static ElementType type(JsonValue number) throws ArchiveException {
    return ElementType.ofSchema(number.integer())
        .orElseThrow(() -> number.other("a type of the schema, such as 7 for float32"));
  }

  private static List<Long> numbers(JsonValue list) throws ArchiveException {
    List<Long> numbers = new ArrayList<>();
    for (JsonValue one : list.elements()) {
      numbers.add(number(one));
    }
    return numbers;
  }

  private static long number(JsonValue symbol) throws ArchiveException {
    return symbol.get("as_int").integer();
  }

  /** Returns the same view of a tensor for which no gradients are computed. */
  TensorView untrained() {
    return new TensorView(type, shape, strides, offset, false);
  }

  /** Returns the number of bytes that its elements have without gaps. */
  long bytes() throws ArchiveException {
    try {
      long count = type.bytes();
      for (long one : shape) {
        count = Math.multiplyExact(count, one);
      }
      return count;
    } catch (ArithmeticException e) {
      throw impossible();
    }
  }

  /** Returns the number of bytes that its storage has at least. */
  long storageBytes() throws ArchiveException {
    if (bytes() == 0) {
      return 0;
    }
    try {
      long last = offset;
      for (int i = 0; i < shape.size(); i++) {
        last = Math.addExact(last, Math.multiplyExact(shape.get(i) - 1, strides.get(i)));
      }
      return Math.multiplyExact(Math.addExact(last, 1), type.bytes());
    } catch (ArithmeticException e) {
      throw impossible();
    }
  }

  /**
   * Returns the elements without gaps, in the order of their indices.
   *
   * @param storage with at least {@link #storageBytes}; it is returned itself where it is the same
   */
  ByteBuffer values(byte[] storage) throws ArchiveException {
    int size = Math.toIntExact(bytes());
    if (offset == 0 && size == storage.length && isContiguous()) {
      return ByteBuffer.wrap(storage);
    }
    byte[] values = new byte[size];
    if (size > 0 && isContiguous()) {
      System.arraycopy(storage, Math.toIntExact(offset * type.bytes()), values, 0, size);
    } else if (size > 0) {
      copy(storage, values);
    }
    return ByteBuffer.wrap(values);
  }

  private boolean isContiguous() {
    long expected = 1;
    for (int i = shape.size() - 1; i >= 0; i--) {
      if (shape.get(i) != 1 && strides.get(i) != expected) {
        return false;
      }
      expected *= shape.get(i);
    }
    return true;
  }

  private void copy(byte[] storage, byte[] values) {
    int bytes = type.bytes();
    long[] index = new long[shape.size()];
    long from = offset;
    for (int to = 0; to < values.length; to += bytes) {
      System.arraycopy(storage, (int) (from * bytes), values, to, bytes);
      for (int i = index.length - 1; i >= 0; i--) {
        index[i]++;
        from += strides.get(i);
        if (index[i] < shape.get(i)) {
          break;
        }
        from -= index[i] * strides.get(i);
        index[i] = 0;
      }
    }
  }

  private ArchiveException impossible() {
    return new ArchiveException(
        "a tensor of shape %s with strides %s from element %s, which no storage can hold"
            .formatted(shape, strides, offset));
  }
}
