package io.vertigrad.internal.worker;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.strategy.Replica;

/**
 * A model, or a stage of one, and the vector that a strategy beside the worker steps. Belongs to
 * the training loop's thread.
 */
public interface ReplicaModel {

  /** The parameters as the strategy has them. */
  Replica vector();

  /** Hash of what the vector means, the same in all workers. */
  long layout();

  /** An optimizer of the vector; called by the strategy's thread while this worker waits. */
  Optimizer optimizer(OptimizerConfig config);

  /** Puts these parameters into the model. */
  void load(float[] parameters);

  /** Gradients go to this array from now on, if it matters to the model where they are. */
  default void gradientsInto(float[] array) {}

  /**
   * Copies elements that are final of a gradient that is still being computed.
   *
   * @param first element of the vector
   * @param end element behind the last
   * @return the array of all of it, which the strategy may overwrite once the gradient is there
   */
  default float[] gradient(int first, int end) {
    throw new UnsupportedOperationException("a stage's gradient is there when it is complete");
  }

  /** The gradient computed last, in an array that the strategy may overwrite. */
  float[] gradient();
}
