package io.vertigrad.training;

import java.time.Duration;

/**
 * What a job has come to.
 *
 * @param state how it ended
 * @param version version of the parameters at the end: rounds where workers share them, single
 *     updates elsewhere
 * @param samples training samples whose gradients were applied, over all workers
 * @param duration wall-clock time from the job's start to its end, with the tests in between and
 *     without pauses; zero when it never started
 * @param accuracy of the parameters at the end on the whole test set, in percent; of a stopped job
 *     on as many samples as could be tested in ten seconds; NaN when they could not be read, or the
 *     model tells values; of a model that tells several labels or tokens, of all of them
 * @param loss mean loss of the same test; NaN likewise
 * @param bestAccuracy highest accuracy of any test of the job, in percent, tests on a part of the
 *     test set included; NaN when there was none
 * @param bestLoss lowest mean loss of any test of the job; NaN when there was none
 * @param parametersHash 16 hexadecimal digits that are equal for equal parameters; empty when the
 *     parameters could not be read
 * @param reason why it ended before its last step: {@code accuracy}, {@code loss} or {@code
 *     minutes} of the job file's {@code stop}, or the words of whoever stopped it; empty when it
 *     made all its steps
 */
public record TrainingResult(
    State state,
    long version,
    long samples,
    Duration duration,
    double accuracy,
    double loss,
    double bestAccuracy,
    double bestLoss,
    String parametersHash,
    String reason) {

  /** How a job ends that did not fail. */
  public enum State {
    /** It made its last step, or reached what its {@code stop} section asks for. */
    FINISHED,
    /** Somebody stopped it before. */
    STOPPED
  }
}
