package io.vertigrad.internal.worker;

import java.util.ArrayDeque;
import java.util.Iterator;

/**
 * The last {@value #STEPS} steps that a rank has trained, so that each counts once in its epoch: a
 * repeated step replaces the earlier one, and a step whose answer was lost counts when training
 * goes on behind it.
 *
 * <p>It outlives the incarnations of a worker, but not its process. Belongs to the training loop's
 * thread.
 */
final class EpochStatistics {

  private static final int STEPS = 65_536;

  private final ArrayDeque<Step> steps = new ArrayDeque<>();
  private int rank = -1;
  private long ended;

  /** One step; nothing of it counts when its gradient was left out. */
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
   * One epoch.
   *
   * @param samples that were applied
   * @param loss their mean training loss
   * @param accuracy their training accuracy in percent; NaN where the model cannot tell
   * @param nanos from each batch to the next parameters, added up
   */
  record Sum(long samples, double loss, double accuracy, long nanos) {}

  /** The worker plays this rank from now on: what it has trained of another one is forgotten. */
  void belongsTo(int someRank) {
    if (rank != someRank) {
      rank = someRank;
      ended = 0;
      steps.clear();
    }
  }

  /**
   * Training goes on at a step: those before it count, it and later ones are to come.
   *
   * @param epochs how many have ended there
   */
  void goOn(long step, long epochs) {
    while (!steps.isEmpty() && steps.getLast().number >= step) {
      steps.removeLast();
    }
    if (epochs < ended) {
      ended = epochs;
      steps.stream().filter(each -> each.epoch > epochs).forEach(each -> each.epoch = 0);
    }
  }

  /**
   * A gradient was computed.
   *
   * @param correct how many of its samples were classified correctly; negative where the model
   *     cannot tell
   */
  void computed(long step, int samples, double loss, double correct) {
    goOn(step, ended);
    Step next = new Step(step);
    next.samples = samples;
    next.lossSum = samples * loss;
    next.correct = correct;
    steps.add(next);
    if (steps.size() > STEPS) {
      steps.removeFirst();
    }
  }

  /** The gradient computed last was applied nowhere. */
  void leftOut() {
    steps.getLast().samples = 0;
  }

  /** The last step took so long. */
  void took(long nanos) {
    steps.getLast().nanos = nanos;
  }

  /**
   * Ends an epoch with the steps before which no other epoch has ended.
   *
   * @param epochs how many have ended by now
   * @return what was trained in it; no samples when it was ended before, or nothing was trained
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
