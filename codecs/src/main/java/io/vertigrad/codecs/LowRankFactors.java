package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.List;

/**
 * The payload of {@link Encoding#LOW_RANK}: for some runs of elements the factors P and Q of a
 * matrix {@code P Q^T}, and all other elements as they are.
 *
 * <p>It begins with the number of columns of the factors, the number of matrices, and a {@link
 * MatrixRange} for each. What follows is in the order of the elements: P row by row and Q column by
 * column in place of a matrix's elements, float32 for others.
 */
final class LowRankFactors {

  static final int HEAD_BYTES = 2 * Integer.BYTES;
  static final int ENTRY_BYTES = 4 * Integer.BYTES;

  /** Bounds the work to decode a frame. */
  static final int MOST_RANK = 256;

  private LowRankFactors() {}

  static int bodyAt(int matrices) {
    return HEAD_BYTES + matrices * ENTRY_BYTES;
  }

  static void write(int rank, List<MatrixRange> matrices, FloatBuffer body, ByteBuffer payload) {
    payload.putInt(rank).putInt(matrices.size());
    for (MatrixRange matrix : matrices) {
      payload.putInt(matrix.first()).putInt(matrix.length());
      payload.putInt(matrix.columns()).putInt(matrix.offset());
    }
    payload.asFloatBuffer().put(body);
    payload.rewind();
  }

  /** Decodes {@code count} elements, starting with element {@code first}. */
  static void read(ByteBuffer payload, int first, int count, float[] to) {
    FloatBuffer words = payload.asFloatBuffer();
    int rank = payload.getInt(0);
    int matrices = payload.getInt(Integer.BYTES);
    int end = first + count;
    int at = bodyAt(matrices) / Float.BYTES;
    int element = 0;
    for (int i = 0; i < matrices && element < end; i++) {
      MatrixRange matrix = matrix(payload, i);
      copy(words, at, element, matrix.first(), first, end, to);
      at += matrix.first() - element;
      expand(words, at, rank, matrix, first, end, to);
      at += rank * (matrix.rows() + matrix.columns());
      element = matrix.end();
    }
    if (element < end) {
      copy(words, at, element, end, first, end, to);
    }
  }

  private static MatrixRange matrix(ByteBuffer payload, int index) {
    int at = bodyAt(index);
    return new MatrixRange(
        payload.getInt(at),
        payload.getInt(at + 4),
        payload.getInt(at + 8),
        payload.getInt(at + 12));
  }

  /** Copies elements {@code from} to {@code until} that lie between {@code first} and the end. */
  private static void copy(
      FloatBuffer words, int at, int from, int until, int first, int end, float[] to) {
    int begin = Math.max(from, first);
    int length = Math.min(until, end) - begin;
    if (length > 0) {
      words.get(at + begin - from, to, begin - first, length);
    }
  }

  private static void expand(
      FloatBuffer words, int at, int rank, MatrixRange matrix, int first, int end, float[] to) {
    int rightAt = at + rank * matrix.rows();
    int columns = matrix.columns();
    int element = Math.max(matrix.first(), first);
    int last = Math.min(matrix.end(), end);
    while (element < last) {
      long place = (long) element - matrix.first() + matrix.offset();
      int row = (int) (place / columns);
      int column = (int) (place % columns);
      int length = Math.min(columns - column, last - element);
      for (int r = 0; r < rank; r++) {
        float left = words.get(at + row * rank + r);
        int right = rightAt + r * columns + column;
        for (int i = 0; i < length; i++) {
          float before = r == 0 ? 0 : to[element - first + i];
          to[element - first + i] = before + left * words.get(right + i);
        }
      }
      element += length;
    }
  }

  /** Returns true if no element is NaN, infinite, or larger in magnitude than a bound. */
  static boolean areWithin(ByteBuffer payload, int length, float bound) {
    float[] elements = new float[Math.min(length, Chunk.ELEMENTS)];
    for (int first = 0; first < length; first += elements.length) {
      int count = Math.min(elements.length, length - first);
      read(payload, first, count, elements);
      for (int i = 0; i < count; i++) {
        if (!(Math.abs(elements[i]) <= bound)) {
          return false;
        }
      }
    }
    return true;
  }

  /** Returns the first matrix that is no run behind the one before; -1 if there is none. */
  static int firstWrongMatrix(ByteBuffer payload, int matrices, int elements) {
    int end = 0;
    for (int i = 0; i < matrices; i++) {
      int at = bodyAt(i);
      int first = payload.getInt(at);
      int length = payload.getInt(at + 4);
      boolean valid =
          MatrixRange.isValid(first, length, payload.getInt(at + 8), payload.getInt(at + 12));
      if (!valid || first < end || length > elements - first) {
        return i;
      }
      end = first + length;
    }
    return -1;
  }

  /** Returns the number of bytes of a payload whose matrices are valid. */
  static long payloadBytes(ByteBuffer payload, int matrices, int elements) {
    long rank = payload.getInt(0);
    long words = elements;
    for (int i = 0; i < matrices; i++) {
      int at = bodyAt(i);
      int length = payload.getInt(at + 4);
      int columns = payload.getInt(at + 8);
      long rows = MatrixRange.rows(length, columns, payload.getInt(at + 12));
      words += rank * (rows + columns) - length;
    }
    return bodyAt(matrices) + words * Float.BYTES;
  }
}
