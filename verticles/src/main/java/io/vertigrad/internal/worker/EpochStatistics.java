package io.vertigrad.internal.worker;

import java.util.ArrayDeque;
import java.util.Iterator;

/**
 * Statistics of the last {@value #STEPS} steps that a rank has trained. Each step counts once in
 * its epoch: a repeated step replaces the earlier one, and a step whose answer was lost counts if
 * training continues after it.
 *
 * <p>An instance lives as long as the worker's process, across the incarnations of the worker. It
 * belongs to the training loop's thread.
 */
final class EpochStatistics {

  private static final int STEPS = 65_536;

  private final ArrayDeque<Step> steps = new ArrayDeque<>();
  private int rank = -1;
  private long ended;

  /** One step. Its samples, loss and accuracy do not count if its gradient was left out. */
  private static final class Step {

    private final long number;
    private int samples;
    private double lossSum;
    private double correct;
    private long nanos;
    private long epoch;

    Step(long number) {
      this.number = number;
    }
  }

  /**
   * The statistics of one epoch.
   *
   * @param samples number of samples that were applied
   * @param loss mean training loss of these samples
   * @param accuracy training accuracy in percent; NaN where the model does not report it
   * @param nanos sum of the times from each batch to the next parameters
   */
  record Sum(long samples, double loss, double accuracy, long nanos) {}

  /** Sets the rank that the worker has now. Clears the statistics of any other rank. */
  void setRank(int someRank) {
    if (rank != someRank) {
      rank = someRank;
      ended = 0;
      steps.clear();
    }
  }

  /**
   * Continues training at a step: keeps the steps before it, drops this step and all later ones.
   *
   * @param epochs number of epochs that have ended at this step
   */
  void continueAt(long step, long epochs) {
    while (!steps.isEmpty() && steps.getLast().number >= step) {
      steps.removeLast();
    }
    if (epochs < ended) {
      ended = epochs;
      steps.stream().filter(each -> each.epoch > epochs).forEach(each -> each.epoch = 0);
    }
  }

  /**
   * Records a computed gradient.
   *
   * @param correct number of its samples that were classified correctly; negative where the model
   *     does not report it
   */
  void recordGradient(long step, int samples, double loss, double correct) {
    continueAt(step, ended);
    Step next = new Step(step);
    next.samples = samples;
    next.lossSum = samples * loss;
    next.correct = correct;
    steps.add(next);
    if (steps.size() > STEPS) {
      steps.removeFirst();
    }
  }

  /** Records that the last computed gradient was not applied anywhere. */
  void recordLeftOut() {
    steps.getLast().samples = 0;
  }

  /** Records how long the last step took. */
  void recordDuration(long nanos) {
    steps.getLast().nanos = nanos;
  }

  /**
   * Ends an epoch. It contains the steps that no earlier epoch contains.
   *
   * @param epochs number of epochs that have ended by now
   * @return the epoch's statistics; no samples if it had already ended or nothing was trained
   */
  Sum end(long epochs) {
    if (epochs <= ended) {
      return new Sum(0, 0, 0, 0);
    }
    ended = epochs;
    long samples = 0;
    double lossSum = 0;
    double correct = 0;
    long nanos = 0;
    Iterator<Step> newestFirst = steps.descendingIterator();
    while (newestFirst.hasNext()) {
      Step step = newestFirst.next();
      if (step.epoch > 0) {
        break;
      }
      step.epoch = epochs;
      nanos += step.nanos;
      if (step.samples > 0) {
        samples += step.samples;
        lossSum += step.lossSum;
        correct = step.correct < 0 ? Double.NaN : correct + step.correct;
      }
    }
    return new Sum(samples, lossSum / samples, 100 * correct / samples, nanos);
  }
}
