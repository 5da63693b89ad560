package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import java.util.List;
import java.util.Optional;

/**
 * Computes a worker's gradients, either with a whole model or with one stage of a model together
 * with its neighbour stages. Belongs to the training loop's thread.
 */
public interface GradientSource {

  /**
   * The facts about a computed gradient.
   *
   * @param epoch epoch of its batch
   * @param samples number of samples behind it
   * @param countedSamples number of those samples that this worker counts; another stage counts the
   *     others
   * @param loss mean loss of the counted samples; undefined if there are none
   * @param correct number of those samples that were classified correctly; a sample with several
   *     answers adds the share of right answers; -1 where it is unknown
   * @param dataWaitNanos time spent waiting for data
   * @param computedNanos time spent in the model
   * @param transferNanos time spent moving tensors to and from other stages
   */
  record Computed(
      int epoch,
      int samples,
      int countedSamples,
      double loss,
      double correct,
      long dataWaitNanos,
      long computedNanos,
      long transferNanos) {

    /** Returns the facts about this gradient and the next one together. */
    Computed plus(Computed next) {
      int counted = countedSamples + next.countedSamples;
      double sum = loss * countedSamples + next.loss * next.countedSamples;
      return new Computed(
          next.epoch,
          samples + next.samples,
          counted,
          counted == 0 ? 0 : sum / counted,
          correct < 0 || next.correct < 0 ? -1 : correct + next.correct,
          dataWaitNanos + next.dataWaitNanos,
          computedNanos + next.computedNanos,
          transferNanos + next.transferNanos);
    }
  }

  /**
   * Computes the gradient of one batch at the parameters that the model holds. Blocks.
   *
   * @param version version of these parameters
   * @param step number of steps that this worker's rank has taken
   * @param overlap receives the parts that are final; a source that cannot report partial results
   *     ignores it
   * @throws io.vertigrad.strategy.GroupChangedException when another stage has gone; the caller
   *     must give up the step
   */
  Computed compute(long version, long step, Optional<ParameterExchange.Overlap> overlap);

  /**
   * Waits for the data of a step. The job may end or pause meanwhile, so the caller asks again.
   *
   * @param version version of the parameters that the model holds
   * @param step number of steps that this worker's rank has taken
   * @param required true if others need this step; then a source without data takes it without
   * @return false if there are no data yet
   */
  default boolean await(long version, long step, boolean required) {
    return true;
  }

  /**
   * Receives the end of the step that was computed last.
   *
   * @param applied false if its gradient was left out
   */
  default void answered(boolean applied) {}

  /**
   * Receives the end of the job, which this incarnation may reach without a step.
   *
   * @param version last version of the parameters
   * @param step number of steps that this worker's rank has taken
   */
  default void ended(long version, long step) {}

  /** Returns true while the source has no data; any thread. */
  default boolean awaitsData() {
    return false;
  }

  /** Releases the data; the model stays open. */
  default void close() {}

  /** Returns what a progress report adds about the source; any thread. */
  default List<TrainingEvent> events() {
    return List.of();
  }

  /**
   * Converts a count of right answers into a number of samples.
   *
   * @param correct number of right answers; -1 where it is unknown
   * @param answers number of answers per sample
   * @return right answers divided by answers per sample; -1 where it is unknown
   */
  static double share(int correct, int answers) {
    return correct < 0 || answers <= 1 ? correct : (double) correct / answers;
  }
}
