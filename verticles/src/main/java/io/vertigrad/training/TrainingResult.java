package io.vertigrad.training;

import java.time.Duration;

/**
 * The result of a job that did not fail.
 *
 * @param state how the job ended
 * @param version version of the parameters at the end: it counts rounds if workers share them, else
 *     single updates
 * @param samples training samples whose gradients were applied, over all workers
 * @param duration wall-clock time from the job's start to its end, including tests and without
 *     pauses; zero when it never started
 * @param accuracy accuracy in percent of the final parameters on the whole test set; for a stopped
 *     job, on the samples that were tested in ten seconds. For a stream, on all of its events, each
 *     tested before it was trained on. NaN when nothing was tested, or the model predicts values.
 *     If a model predicts several labels or tokens per sample, all of them count
 * @param loss mean loss of the same test; NaN when nothing was tested, and for a stream
 * @param bestAccuracy highest accuracy of any test of the job, in percent, including tests on a
 *     part of the test set; NaN when there was none
 * @param bestLoss lowest mean loss of any test of the job; NaN when there was none
 * @param parametersHash 16 hexadecimal digits that are equal for equal parameters; empty when the
 *     parameters could not be read
 * @param reason why the job ended before its last step: {@code accuracy}, {@code loss} or {@code
 *     minutes} of the job file's {@code stop}, or the reason given to the stop request; empty when
 *     all steps were taken
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

  /** The ending of a job that did not fail. */
  public enum State {
    /** The job took its last step, or reached a target of its {@code stop} section. */
    FINISHED,
    /** The job was stopped early. */
    STOPPED
  }
}
