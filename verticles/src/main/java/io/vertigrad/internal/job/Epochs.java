package io.vertigrad.internal.job;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyTraits;

/**
 * The versions at which passes over the training set end, as {@link
 * io.vertigrad.job.TrainingLength} counts them.
 *
 * @param steps steps of each worker in one epoch, or versions if each is several steps; infinite if
 *     epochs never end
 * @param versions versions per step: 1, or one per worker if each gradient is a version of its own
 */
public record Epochs(double steps, int versions) {

  /** Epochs that never end. */
  public static final Epochs NONE = new Epochs(Double.POSITIVE_INFINITY, 1);

  /** Tolerance for rounding in a product of decimal fractions. */
  private static final double ROUNDING = 1e-9;

  /** Returns the epochs of a job on a training set of this size. */
  public static Epochs of(JobConfig job, StrategyTraits traits, long trainingSamples) {
    double rounds = traits.roundsPerEpoch(job.stepsPerEpoch(trainingSamples));
    int workers = traits.lockstep() ? 1 : job.workers().count();
    return traits.updatesPerVersion() == 1
        ? new Epochs(rounds, workers)
        : new Epochs(rounds * workers / traits.updatesPerVersion(), 1);
  }

  /** Returns the version at which this many epochs, or parts of epochs, have ended. */
  public long end(double epochs) {
    return (long) Math.ceil(epochs * steps - ROUNDING) * versions;
  }

  /** Returns how many epochs have ended at this version. */
  public long ended(long version) {
    long ended = (long) (version / (steps * versions));
    while (end(ended + 1) <= version) {
      ended++;
    }
    while (ended > 0 && end(ended) > version) {
      ended--;
    }
    return ended;
  }
}
