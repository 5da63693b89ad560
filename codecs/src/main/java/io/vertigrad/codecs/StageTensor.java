package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of the values that one pipeline stage sends to the next stage, or back to the previous
 * one.
 *
 * @param id the sender, its membership epoch and step, and the index of the piece ({@code
 *     partition}); the same on every retry
 * @param plan hash of the parameter layout and of the cuts, so that different plans never mix
 * @param direction activations forward or gradients backward
 * @param microBatch index of the micro-batch within the step, from 0
 * @param firstElement index of the piece's first element in the micro-batch's values, sample after
 *     sample
 * @param tensor the piece; at most one frame
 */
public record StageTensor(
    ExchangeId id,
    long plan,
    Direction direction,
    int microBatch,
    long firstElement,
    TensorView tensor)
    implements Frame {

  /** Largest number of micro-batches in a step. */
  public static final int MOST_MICRO_BATCHES = 1 << 20;

  /** The direction in which a tensor travels. */
  public enum Direction {
    /** Activations, sent to the next stage. */
    FORWARD,
    /** Gradients of activations, sent to the previous stage. */
    BACKWARD
  }

  /** Checks that a frame can carry the numbers. */
  public StageTensor {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(direction, "direction");
    FrameLimits.requireAtLeast("microBatch", microBatch, 0);
    if (microBatch >= MOST_MICRO_BATCHES) {
      throw new IllegalArgumentException(
          "microBatch is %s, expected less than %s".formatted(microBatch, MOST_MICRO_BATCHES));
    }
    FrameLimits.requireAtLeast("firstElement", firstElement, 0);
    FrameLimits.requireFits("tensor", tensor);
  }

  @Override
  public StageTensor retain() {
    return tensor instanceof BorrowedTensor
        ? new StageTensor(id, plan, direction, microBatch, firstElement, tensor.retain())
        : this;
  }

  /**
   * Combines micro-batch and direction into one number: {@code 2 * microBatch}, plus 1 for
   * backward.
   *
   * @return the phase, from 0
   */
  public int phase() {
    return 2 * microBatch + direction.ordinal();
  }

  /**
   * Returns the direction that a phase contains.
   *
   * @param phase a value of {@link #phase()}
   * @return the direction
   */
  public static Direction directionOf(int phase) {
    return Direction.values()[phase & 1];
  }

  /**
   * Returns the micro-batch that a phase contains.
   *
   * @param phase a value of {@link #phase()}
   * @return the micro-batch, from 0
   */
  public static int microBatchOf(int phase) {
    return phase >> 1;
  }
}
