package io.vertigrad.compute;

import java.util.List;

/**
 * One named array of a model, as it is stored in the exchange vector.
 *
 * @param name the layer's name and the array's, for example {@code conv1.W}
 * @param shape the array's dimensions; their product is its length
 * @param kind whether the optimizer updates it
 */
public record Block(String name, List<Integer> shape, Kind kind) {

  /** The way in which a block is updated. */
  public enum Kind {
    /** The optimizer updates it. */
    TRAINABLE,
    /**
     * A running statistic such as a batch-norm mean. Its gradient is a difference to subtract as it
     * is: without learning rate, momentum, decay, clipping or compression. It is averaged, never
     * summed.
     */
    STATISTIC
  }

  /** Copies the shape. */
  public Block {
    shape = List.copyOf(shape);
  }

  /**
   * Returns the number of elements.
   *
   * @return the product of the shape
   */
  public int length() {
    return shape.stream().reduce(1, Math::multiplyExact);
  }
}
