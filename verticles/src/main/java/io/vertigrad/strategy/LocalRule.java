package io.vertigrad.strategy;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;

/**
 * A rule beside the {@linkplain StrategyTraits#localSteps local steps} of one worker with servers.
 * The worker's thread calls it; an instance serves one incarnation after another.
 */
public interface LocalRule {

  /** The rule of a worker that takes all steps as its optimizer does. */
  LocalRule NONE = new LocalRule() {};

  /**
   * One version of a worker.
   *
   * @param rank of the worker
   * @param version of the servers' parameters, from 0
   * @param steps number of local steps that are due, at least 1
   */
  record Round(int rank, long version, long steps) {}

  /** Creates the rule of a worker. */
  @FunctionalInterface
  interface Factory {

    /**
     * Creates a rule that remembers nothing yet.
     *
     * @param job the job
     * @param layout the arrays of the model's vector, of which trainable ones come first
     * @return the rule
     */
    LocalRule create(JobConfig job, ParameterLayout layout);
  }

  /**
   * Begins a version. The same version begins again if the servers refused what the worker sent.
   *
   * @param round the version
   * @param parameters the servers' parameters; they do not change until {@link #finish}
   * @return number of steps to take. With 0, the worker computes nothing and sends zeros, as many
   *     bytes as any update, that count one sample
   */
  default long begin(Round round, float[] parameters) {
    return round.steps();
  }

  /**
   * Returns whether the optimizer begins each version without state. It then has nothing to save.
   *
   * @return false by default
   */
  default boolean restartsOptimizer() {
    return false;
  }

  /**
   * Returns whether the rule changes gradients. They are then in Java, even where the optimizer
   * steps on a device, which costs a copy of parameters and gradient per step.
   *
   * @return false by default
   */
  default boolean adjusts() {
    return false;
  }

  /**
   * Changes a gradient, which is clipped already, before the optimizer steps with it.
   *
   * @param parameters before the step
   * @param gradient to change, as long as the parameters
   */
  default void adjust(float[] parameters, float[] gradient) {}

  /**
   * Ends a version in which steps were taken. Not called if the worker moved farther than {@code
   * exchange.maxMagnitude} or to NaN; the servers refuse such an update.
   *
   * @param moved parameters before the steps minus those after; what is stored here is sent
   */
  default void finish(float[] moved) {}

  /**
   * Returns what the rule remembers from version to version, zeros at first. It is saved with the
   * worker before each update is sent, and restored by a replacement before {@link #begin}.
   *
   * @return always the same array
   */
  default float[] memory() {
    return new float[0];
  }
}
