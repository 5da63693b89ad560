package io.vertigrad.strategy;

import io.vertigrad.job.JobConfig;

/**
 * The versions at which a job's model is tested, and whether training waits for the tests.
 *
 * <p>The n-th test, from 1, is due at version {@code offset + ceil(n * interval) * unit}. If
 * training does not wait, a test is also due at the last version.
 *
 * @param offset number of versions by which the first interval is shorter, or 0
 * @param interval between two tests, in units
 * @param unit number of versions in a unit: 1, or one per worker when a version is a single update
 * @param lastVersion version after which nothing changes
 * @param blocking true when training continues after a due version only once it was tested
 * @param perGradient true when each gradient is a version of its own, so that workers are at
 *     different versions
 */
public record EvaluationPlan(
    long offset,
    double interval,
    int unit,
    long lastVersion,
    boolean blocking,
    boolean perGradient) {

  /** The version when no further test is due. */
  public static final long NONE = Long.MAX_VALUE;

  /** Largest rounding error of a product of decimal fractions. */
  private static final double ROUNDING = 1e-9;

  /**
   * Creates a plan with tests at regular intervals and at the last version; training does not wait
   * for them.
   *
   * @param every number of versions between two tests
   * @param lastVersion version after which nothing changes
   */
  public EvaluationPlan(long every, long lastVersion) {
    this(0, every, 1, lastVersion, false, false);
  }

  /**
   * Returns the plan of a job: every {@code evaluator.every} versions, which are rounds or single
   * updates, or every {@code evaluator.everyEpochs} passes over the training set. If training
   * waits, intervals of versions are counted from the first version on, which is tested too.
   *
   * @param job the job; its number of training samples is known when tests depend on epochs
   * @param traits of the job's strategy
   * @return the plan
   */
  public static EvaluationPlan of(JobConfig job, StrategyTraits traits) {
    int workers = job.workers().count();
    long lastVersion = traits.lastVersion(job.steps(), workers);
    boolean blocking = job.evaluator().blocking();
    boolean perGradient = !traits.lockstep();
    double epochs = job.evaluator().everyEpochs();
    if (epochs > 0) {
      int updates = traits.updatesPerVersion();
      int unit = perGradient && updates == 1 ? workers : 1;
      double rounds = epochs * traits.roundsPerEpoch(job.stepsPerEpoch());
      double steps = updates == 1 ? rounds : rounds * workers / updates;
      return new EvaluationPlan(0, steps, unit, lastVersion, blocking, perGradient);
    }
    long every = Math.min(job.evaluator().every(), lastVersion);
    long offset = blocking ? 1 - every : 0;
    return new EvaluationPlan(offset, every, 1, lastVersion, blocking, perGradient);
  }

  /**
   * Returns the first version after another at which a test is due.
   *
   * @param version from 0
   * @return {@link #NONE} when none is due
   */
  public long next(long version) {
    if (version >= lastVersion) {
      return NONE;
    }
    long n = Math.max(1, (long) ((version - offset) / (interval * unit)));
    while (n > 1 && due(n - 1) > version) {
      n--;
    }
    while (due(n) <= version) {
      n++;
    }
    long due = due(n);
    return due <= lastVersion ? due : blocking ? NONE : lastVersion;
  }

  /**
   * Returns whether a test is due.
   *
   * @param version from 0
   * @return true when a test is due at this version
   */
  public boolean isDue(long version) {
    return version > 0 && next(version - 1) == version;
  }

  /**
   * Returns the version that workers may reach before the first test.
   *
   * @return {@link #NONE} if training does not wait
   */
  public long firstHold() {
    return blocking ? next(0) : NONE;
  }

  private long due(long n) {
    return offset + (long) Math.ceil(n * interval - ROUNDING) * unit;
  }
}
