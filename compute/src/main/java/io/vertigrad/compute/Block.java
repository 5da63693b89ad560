package io.vertigrad.compute;

import java.util.List;

/**
 * One named array of a model, as it lies in the exchange vector.
 *
 * @param name the layer's name and the array's, for example {@code conv1.W}
 * @param shape its dimensions; their product is its length
 * @param kind whether an optimizer may step it
 */
public record Block(String name, List<Integer> shape, Kind kind) {

  /** How a block is updated. */
  public enum Kind {
    /** Stepped by the optimizer. */
    TRAINABLE,
    /**
     * A running statistic such as a batch-norm mean. Its gradient is a plain difference to
     * subtract: no learning rate, momentum, decay, clipping or compression, and averaged, never
     * summed.
     */
    STATISTIC
  }

  /** Copies the shape. */
  public Block {
    shape = List.copyOf(shape);
  }

  /**
   * Number of elements.
   *
   * @return the product of the shape
   */
  public int length() {
    return shape.stream().reduce(1, Math::multiplyExact);
  }
}
