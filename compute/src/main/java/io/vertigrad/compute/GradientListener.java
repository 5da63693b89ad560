package io.vertigrad.compute;

/**
 * Hears which part of a gradient is final while the rest is still being computed; see {@link
 * Model#gradient(Batch, GradientListener)}.
 */
@FunctionalInterface
public interface GradientListener {

  /**
   * The trainable elements from {@code first} on are final and may be read with {@link
   * Model#readGradient}; so they stay until the next gradient. Statistics are final when the whole
   * gradient is.
   *
   * <p>Called on the model's thread, in the middle of the backward pass. Nothing else of the model
   * may be called meanwhile, and what is thrown here is thrown again when the pass has ended.
   *
   * @param first element of the exchange vector, lower than at the last call
   */
  void ready(int first);
}
