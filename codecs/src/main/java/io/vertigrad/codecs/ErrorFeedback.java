package io.vertigrad.codecs;

import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/**
 * Keeps the part of the gradients that compression has left out so far and adds it to the next
 * gradient. The sum of everything delivered plus this residual equals the sum of the gradients.
 *
 * <p>{@code p = g + r; send C(p); r <- p - C(p)}: Seide et al. 2014 for rounding, Stich et al. 2018
 * for sparse gradients. The residual changes only when a tensor was {@linkplain #delivered
 * delivered}; a tensor that reached nobody has no effect. Use from one thread.
 */
public final class ErrorFeedback implements GradientCompression {

  private final Function<FloatBuffer, Tensor> compression;
  private final float[] residual;
  private final float[] pending;
  private float weight = 1;

  /**
   * Creates a zero residual for a vector.
   *
   * @param compression rule that is applied to the values
   * @param length number of elements of the vector
   */
  public ErrorFeedback(Compression compression, int length) {
    this(compression::of, length);
  }

  /**
   * Creates a zero residual for a vector that is rounded to a narrower type.
   *
   * @param type in which the values are sent
   * @param length number of elements of the vector
   */
  public ErrorFeedback(DataType type, int length) {
    this(values -> Tensor.copyOf(type, values), length);
  }

  private ErrorFeedback(Function<FloatBuffer, Tensor> compression, int length) {
    this.compression = compression;
    this.residual = new float[length];
    this.pending = new float[length];
  }

  @Override
  public void weigh(float factor) {
    weight = factor;
  }

  @Override
  public Tensor compress(int first, FloatBuffer values) {
    int length = values.remaining();
    values.get(pending, first, length);
    for (int i = first; i < first + length; i++) {
      pending[i] += weight * residual[i];
    }
    Tensor tensor = compression.apply(FloatBuffer.wrap(pending, first, length));
    tensor.addTo(pending, first, -1);
    for (int i = first; weight != 1 && i < first + length; i++) {
      pending[i] /= weight;
    }
    return tensor;
  }

  @Override
  public void delivered(int first, int length) {
    System.arraycopy(pending, first, residual, first, length);
  }

  /**
   * Returns the residual that will hold once every tensor of the last round of {@link #compress}
   * has been delivered.
   *
   * @return a read-only view of as many elements as the vector has; it changes with the next {@link
   *     #compress}
   */
  @Override
  public FloatBuffer pending() {
    return FloatBuffer.wrap(pending).asReadOnlyBuffer();
  }

  @Override
  public FloatBuffer current() {
    return FloatBuffer.wrap(residual).asReadOnlyBuffer();
  }

  /**
   * Replaces the residual by an earlier one.
   *
   * @param earlier a value of {@link #residual()}; empty for zeros
   * @throws IllegalArgumentException when its length differs from the vector's
   */
  @Override
  public void restore(float[] earlier) {
    if (earlier.length != 0 && earlier.length != residual.length) {
      throw new IllegalArgumentException(
          "the residual has %s elements, expected 0 or %s"
              .formatted(earlier.length, residual.length));
    }
    Arrays.fill(residual, 0);
    System.arraycopy(earlier, 0, residual, 0, earlier.length);
  }

  /**
   * Returns a copy of the residual.
   *
   * @return as many elements as the vector has
   */
  public float[] residual() {
    return residual.clone();
  }
}
