package io.vertigrad.federated;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.codecs.Tensor;
import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * Sends the momentum of a worker in place of its gradient: {@code m <- beta m + (1 - beta) g}, from
 * zero (S. P. Karimireddy, L. He, M. Jaggi: Learning from History for Byzantine Robust
 * Optimization, ICML 2021). Momenta of right workers differ less from each other than gradients of
 * single batches do, so that a rule tells wrong ones from them.
 *
 * <p>The momentum is what a worker keeps from step to step like what a compression leaves out, and
 * is saved in the same way. It is sent as float32.
 */
final class WorkerMomentum implements GradientCompression {

  private final float beta;
  private final float[] delivered;
  private final float[] pending;

  /**
   * Creates the momentum of one worker.
   *
   * @param beta share of the earlier momentum, from 0 to below 1
   * @param trainable number of trainable elements
   */
  WorkerMomentum(double beta, int trainable) {
    this.beta = (float) beta;
    delivered = new float[trainable];
    pending = new float[trainable];
  }

  /** Does nothing: a momentum counts for one update, whatever its batch. */
  @Override
  public void weigh(float factor) {}

  @Override
  public Tensor compress(int first, FloatBuffer values) {
    int length = values.remaining();
    for (int i = 0; i < length; i++) {
      float gradient = values.get(values.position() + i);
      pending[first + i] = beta * delivered[first + i] + (1 - beta) * gradient;
    }
    return Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(pending, first, length));
  }

  @Override
  public void delivered(int first, int length) {
    System.arraycopy(pending, first, delivered, first, length);
  }

  @Override
  public FloatBuffer pending() {
    return FloatBuffer.wrap(pending).asReadOnlyBuffer();
  }

  @Override
  public FloatBuffer current() {
    return FloatBuffer.wrap(delivered).asReadOnlyBuffer();
  }

  @Override
  public void restore(float[] earlier) {
    if (earlier.length != 0 && earlier.length != delivered.length) {
      throw new IllegalArgumentException(
          "the momentum has %s elements, expected 0 or %s"
              .formatted(earlier.length, delivered.length));
    }
    Arrays.fill(delivered, 0);
    System.arraycopy(earlier, 0, delivered, 0, earlier.length);
  }
}
