package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of what one stage of a pipeline hands to the next, or back to the one before.
 *
 * @param id who sends it, in which membership epoch and step, and which piece ({@code partition});
 *     the same on every retry
 * @param plan hash of the parameter layout and of the cuts, so that different plans never mix
 * @param direction activations forward or gradients back
 * @param microBatch index of the micro-batch within the step, from 0
 * @param firstElement where the piece begins in the micro-batch's values, sample after sample
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

  /** Most micro-batches of a step. */
  public static final int MOST_MICRO_BATCHES = 1 << 20;

  /** Which way a tensor travels. */
  public enum Direction {
    /** Activations, to the next stage. */
    FORWARD,
    /** Gradients of activations, to the stage before. */
    BACKWARD
  }

  /** Refuses numbers that no frame can carry. */
  public StageTensor {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(direction, "direction");
    FrameLimits.requireAtLeast("microBatch", microBatch, 0);
    if (microBatch >= MOST_MICRO_BATCHES) {
      throw new IllegalArgumentException(
          "microBatch is %d, expected less than %d".formatted(microBatch, MOST_MICRO_BATCHES));
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
   * The micro-batch and the direction as one number: twice the first, plus 1 on the way back.
   *
   * @return the phase, from 0
   */
  public int phase() {
    return 2 * microBatch + direction.ordinal();
  }

  /**
   * The direction that is part of a phase.
   *
   * @param phase as {@link #phase()} gives it
   * @return the direction
   */
  public static Direction directionOf(int phase) {
    return Direction.values()[phase & 1];
  }

  /**
   * The micro-batch that is part of a phase.
   *
   * @param phase as {@link #phase()} gives it
   * @return the micro-batch, from 0
   */
  public static int microBatchOf(int phase) {
    return phase >> 1;
  }
}
