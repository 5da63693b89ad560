package io.vertigrad.verticles.evaluator;

import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.strategy.StrategyFactory;

/**
 * When to test.
 *
 * @param every versions between two tests
 * @param lastVersion version after which nothing changes
 */
record EvaluationPlan(long every, long lastVersion) {

  /** {@code evaluator.every} rounds: as many versions, or that many per worker. */
  static EvaluationPlan of(JobConfig job, StrategyFactory strategy) {
    int workers = job.workers().count();
    long versionsPerRound = strategy.lockstep() ? 1 : workers;
    long lastVersion = strategy.lastVersion(job.steps(), workers);
    long rounds = Math.min(job.evaluator().every(), lastVersion);
    return new EvaluationPlan(rounds * versionsPerRound, lastVersion);
  }

  /** The next version to wait for: a multiple of {@code every}, at most the last one. */
  long after(long version) {
    return Math.min(lastVersion, (version / every + 1) * every);
  }
}
