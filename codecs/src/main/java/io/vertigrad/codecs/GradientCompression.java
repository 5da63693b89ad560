package io.vertigrad.codecs;

import java.nio.FloatBuffer;

/**
 * Compresses a vector's gradients, piece by piece, and adds what it left out so far to the next
 * gradient. What a piece has changed counts only when it was {@linkplain #delivered delivered}. Use
 * from one thread.
 */
public interface GradientCompression {

  /**
   * Sets the factor of the gradients from now on; it is 1 at first. What is left out is kept as
   * that of a gradient with the factor 1, so the mean of a step counts it once, also if all its
   * gradients are of small batches.
   *
   * @param factor such as the samples of the gradient over those of a whole batch; positive
   */
  void weigh(float factor);

  /**
   * Adds what was left out so far to {@code values} and compresses the sum. The values are the
   * elements of the vector that start at {@code first}.
   *
   * @param first index of the first value in the vector
   * @param values from the buffer's position to its limit
   * @return the tensor to send
   */
  Tensor compress(int first, FloatBuffer values);

  /**
   * Records that the tensor that {@link #compress} last made of these elements has arrived. The
   * tensor must have been finite.
   *
   * @param first index of the tensor's first element in the vector
   * @param length number of elements of the tensor
   */
  void delivered(int first, int length);

  /**
   * Returns the state that will hold once every tensor of the last round of {@link #compress} has
   * been delivered.
   *
   * @return a read-only view, always of the same length; it changes with the next {@link #compress}
   */
  FloatBuffer pending();

  /**
   * Returns the state that holds now, without tensors that have not been delivered.
   *
   * @return a read-only view, as long as {@link #pending}; it changes with {@link #delivered}
   */
  FloatBuffer current();

  /**
   * Replaces the state by an earlier one.
   *
   * @param earlier a value of {@link #pending} or {@link #current}; empty for the state at the
   *     beginning
   * @throws IllegalArgumentException when its length differs
   */
  void restore(float[] earlier);
}
