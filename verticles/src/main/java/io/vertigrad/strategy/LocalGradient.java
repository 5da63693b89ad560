package io.vertigrad.strategy;

import java.util.function.Supplier;

/**
 * The gradient that one worker computed from one batch. Where the worker's model computes on a
 * device and steps there, the gradient is copied to Java when {@link #values()} is called first.
 *
 * <p>Belongs to the strategy's thread until the strategy has stored the next parameters.
 */
public final class LocalGradient {

  /** Null for a gradient that was in Java from the start. */
  private final Supplier<float[]> device;

  private final int samples;
  private float[] values;

  /**
   * Creates a gradient in Java's memory.
   *
   * @param values mean gradient over the batch, then the statistics' differences, in exchange order
   * @param samples number of samples in the batch
   */
  public LocalGradient(float[] values, int samples) {
    this.device = null;
    this.samples = samples;
    this.values = values;
  }

  /**
   * Creates a gradient on a device.
   *
   * @param device copies the values to an array; called at most once
   * @param samples number of samples in the batch
   */
  public LocalGradient(Supplier<float[]> device, int samples) {
    this.device = device;
    this.samples = samples;
  }

  /**
   * Returns the mean gradient over the batch, then the statistics' differences, in exchange order.
   * The strategy may overwrite them. In an array from {@link PeerStrategy#gradientArray()},
   * elements after them belong to the strategy.
   *
   * @return always the same array
   */
  public float[] values() {
    if (values == null) {
      values = device.get();
    }
    return values;
  }

  /**
   * Returns the number of samples in the batch.
   *
   * @return at least 1
   */
  public int samples() {
    return samples;
  }

  /**
   * Returns whether the newest values are in Java: the strategy has them and may change them.
   *
   * @return false if they are on a device
   */
  public boolean isInJava() {
    return values != null;
  }
}
