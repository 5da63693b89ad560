package io.vertigrad.codecs;

import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * A sender's memory of what compression has left out so far, sent along with the next gradient: the
 * sum of what was delivered and the residual is the sum of the gradients.
 *
 * <p>{@code p = g + r; send C(p); r <- p - C(p)}: Seide et al. 2014 for rounding, Stich et al. 2018
 * for sparse gradients. The residual changes only when a tensor was {@linkplain #delivered
 * delivered}; one that reached nobody leaves no trace. Belongs to one thread.
 */
public final class ErrorFeedback {

  private final Compression compression;
  private final float[] residual;
  private final float[] rest;

  /**
   * Memory of a vector of this many elements, with nothing left out yet.
   *
   * @param compression what is done to the values
   * @param length elements of the vector
   */
  public ErrorFeedback(Compression compression, int length) {
    this.compression = compression;
    this.residual = new float[length];
    this.rest = new float[length];
  }

  /**
   * Compresses {@code values}, the vector's elements from {@code first} on, and what is owed.
   *
   * @param first where in the vector the values begin
   * @param values from the buffer's position to its limit
   * @return what is to be sent
   */
  public Tensor compress(int first, FloatBuffer values) {
    int length = values.remaining();
    values.get(rest, first, length);
    for (int i = first; i < first + length; i++) {
      rest[i] += residual[i];
    }
    Tensor tensor = compression.of(FloatBuffer.wrap(rest, first, length));
    tensor.addTo(rest, first, -1);
    return tensor;
  }

  /**
   * The tensor last made of these elements has arrived; it must have been finite.
   *
   * @param first where in the vector the tensor begins
   * @param length elements of the tensor
   */
  public void delivered(int first, int length) {
    System.arraycopy(rest, first, residual, first, length);
  }

  /**
   * What will be owed when everything that was compressed last has been delivered.
   *
   * @return as many elements as the vector has, for reading; it changes with the next {@link
   *     #compress}
   */
  public FloatBuffer pending() {
    return FloatBuffer.wrap(rest).asReadOnlyBuffer();
  }

  /**
   * Goes back to what was owed before.
   *
   * @param owed as {@link #residual()} returned it; empty for nothing
   * @throws IllegalArgumentException when it is of another length
   */
  public void restore(float[] owed) {
    if (owed.length != 0 && owed.length != residual.length) {
      throw new IllegalArgumentException(
          "%d elements are owed, expected 0 or %d".formatted(owed.length, residual.length));
    }
    Arrays.fill(residual, 0);
    System.arraycopy(owed, 0, residual, 0, owed.length);
  }

  /**
   * A copy of what is owed.
   *
   * @return as many elements as the vector has
   */
  public float[] residual() {
    return residual.clone();
  }
}
