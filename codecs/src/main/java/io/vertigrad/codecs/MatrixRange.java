package io.vertigrad.codecs;

/**
 * A run of a vector's elements that are those of a matrix, row by row. The first and the last row
 * may be incomplete: their other elements are not in the vector and count as 0.
 *
 * @param first index of its first element in the vector, at least 0
 * @param length number of elements, at least 1
 * @param columns elements of a row, at least 1
 * @param offset column of the first element
 */
public record MatrixRange(int first, int length, int columns, int offset) {

  /** Checks the numbers. */
  public MatrixRange {
    if (!isValid(first, length, columns, offset)) {
      throw new IllegalArgumentException(
          "first %s, length %s, columns %s, offset %s: expected a run of a matrix's elements"
              .formatted(first, length, columns, offset));
    }
  }

  static boolean isValid(int first, int length, int columns, int offset) {
    return first >= 0 && length >= 1 && columns >= 1 && offset >= 0 && offset < columns;
  }

  /**
   * Returns the number of rows, incomplete ones included.
   *
   * @return at least 1
   */
  public int rows() {
    return rows(length, columns, offset);
  }

  static int rows(int length, int columns, int offset) {
    return (int) (((long) offset + length - 1) / columns) + 1;
  }

  /**
   * Returns the index of the first element behind the run.
   *
   * @return an index in the vector
   */
  public int end() {
    return first + length;
  }
}
