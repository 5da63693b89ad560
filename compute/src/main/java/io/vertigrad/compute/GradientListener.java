package io.vertigrad.compute;

/**
 * Receives notice of final parts of a gradient while the rest is still being computed; see {@link
 * Model#gradient(Batch, GradientListener)}.
 */
@FunctionalInterface
public interface GradientListener {

  /**
   * Reports that the trainable elements from {@code first} on are final. They can be read with
   * {@link Model#readGradient} until the next gradient is computed. Statistics are final when the
   * whole gradient is.
   *
   * <p>Called on the model's thread during the backward pass. The listener must not call any other
   * method of the model. An exception from the listener is rethrown when the pass has ended.
   *
   * @param first element of the exchange vector, lower than in the previous call
   */
  void ready(int first);
}
