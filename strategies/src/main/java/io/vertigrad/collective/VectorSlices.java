package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;

/**
 * A range of a vector that is cut into pieces of at most one frame each.
 *
 * @param first index of the range's first element
 * @param length number of elements
 * @param most largest number of elements of one piece
 */
public record VectorSlices(int first, int length, int most) {

  /**
   * Returns the part of {@code length} elements that position {@code chunk} of {@code chunks} owns.
   */
  static VectorSlices chunk(int length, int chunk, int chunks, int most) {
    int first = (int) ((long) length * chunk / chunks);
    int end = (int) ((long) length * (chunk + 1) / chunks);
    return new VectorSlices(first, end - first, most);
  }

  /**
   * Returns the number of pieces.
   *
   * @return 0 for an empty range
   */
  public int count() {
    return (length + most - 1) / most;
  }

  /**
   * Returns where a piece begins.
   *
   * @param piece number of the piece, from 0
   * @return index of its first element in the vector
   */
  public int start(int piece) {
    return first + piece * most;
  }

  int size(int piece) {
    return Math.min(most, length - piece * most);
  }

  /**
   * Returns a copy of one piece.
   *
   * @param vector holds the range
   * @param piece number of the piece
   * @param type in which the copy is
   * @return the copy
   */
  public Tensor of(float[] vector, int piece, DataType type) {
    return Tensor.copyOf(type, in(vector, piece));
  }

  /**
   * Returns a view of one piece.
   *
   * @param vector holds the range
   * @param piece number of the piece
   * @return a view of the vector
   */
  public FloatBuffer in(float[] vector, int piece) {
    return FloatBuffer.wrap(vector, start(piece), size(piece));
  }

  /**
   * Checks that a tensor has a piece's size.
   *
   * @param <T> type of the tensor
   * @param tensor what another worker has sent
   * @param piece number of the piece
   * @param rank of that worker
   * @return the tensor
   * @throws IllegalStateException when it has another size
   */
  public <T extends TensorView> T checked(T tensor, int piece, int rank) {
    if (tensor.length() != size(piece)) {
      throw new IllegalStateException(
          "worker %s sent %s elements as piece %s, expected %s: do all run the same version?"
              .formatted(rank, tensor.length(), piece, size(piece)));
    }
    return tensor;
  }
}
