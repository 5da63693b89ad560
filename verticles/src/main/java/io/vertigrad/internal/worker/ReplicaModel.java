package io.vertigrad.internal.worker;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;

/**
 * A model, or one stage of a model, together with the vector that the worker's strategy updates.
 * Belongs to the training loop's thread.
 */
public interface ReplicaModel {

  /** Returns the parameters as the strategy has them. */
  DeviceReplica vector();

  /** Returns the hash of the vector's layout, which is the same in all workers. */
  long layout();

  /**
   * Returns an optimizer of the vector. Called by the strategy's thread while this worker waits.
   */
  Optimizer optimizer(OptimizerConfig config);

  /** Copies these parameters into the model. */
  void load(float[] parameters);

  /** Returns a copy of the parameters of a model whose device has the newest ones. */
  default float[] parameters() {
    throw new UnsupportedOperationException("a stage's newest parameters are in Java");
  }

  /** Sets the array for future gradients. A model that does not need this ignores it. */
  default void gradientsInto(float[] array) {}

  /**
   * Copies final elements of a gradient that is still being computed.
   *
   * @param first first element of the vector to copy
   * @param end index after the last element
   * @return the array of the whole gradient; the strategy may overwrite it once the gradient is
   *     complete
   */
  default float[] gradient(int first, int end) {
    throw new UnsupportedOperationException("a stage's gradient is there when it is complete");
  }

  /** Returns the last computed gradient, in an array that the strategy may overwrite. */
  float[] gradient();

  /** Returns the state in memory: the vector's version, and the training run that reached it. */
  RunVersion state();

  /**
   * Records that a step has reached a version completely. Until then, a step that was given up may
   * have changed a part of the state.
   */
  void reached(long version);

  /**
   * Handles a gradient that was left out because it was not finite.
   *
   * @throws io.vertigrad.strategy.ExchangeException if training cannot go on without it
   */
  default void leftOut(long step, double loss) {}

  /**
   * Starts a copy of everything needed to continue from the current state.
   *
   * @param memory the strategy's memory; must not change
   * @param into memory for the copy
   */
  SavedState copy(float[] memory, CopyMemory into);
}
