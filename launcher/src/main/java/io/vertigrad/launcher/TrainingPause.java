package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;

/**
 * Where a run ends in good order before its last step: at a step of its workers, or when somebody
 * asks. The run keeps its job file, so that schedules are those of the whole job.
 *
 * @param steps of each worker; at the job's last step or later the run is not paused
 * @param asked completes when the run is to end at once
 */
record TrainingPause(long steps, Future<Void> asked) {

  private static final ClassLoader LOADER = TrainingPause.class.getClassLoader();

  /** Returns the version at which the job is paused; {@link Long#MAX_VALUE} for never. */
  long version(JobConfig job) {
    return version(job, steps);
  }

  /** Returns the version at which a job is paused at a step. */
  static long version(JobConfig job, long steps) {
    return steps >= job.steps()
        ? Long.MAX_VALUE
        : traits(job).lastVersion(steps, job.workers().count());
  }

  /**
   * Returns the job with one test, of the version at which it is paused, for which training waits.
   * So no worker is far beyond that version when the job is asked to end.
   *
   * @param job of which the data set can be opened
   */
  JobConfig testedThere(JobConfig job) {
    long version = version(job);
    if (version == Long.MAX_VALUE) {
      return job;
    }
    EvaluationPlan epoch = EvaluationPlan.of(with(job, 1), traits(job));
    return with(job, version / (epoch.interval() * epoch.unit()));
  }

  private static JobConfig with(JobConfig job, double everyEpochs) {
    JsonObject json = job.json();
    JsonObject evaluator = json.getJsonObject("evaluator");
    evaluator.remove("every");
    // The stages of a pipeline test between two steps anyway.
    evaluator
        .put("count", 1)
        .put("everyEpochs", everyEpochs)
        .put("blocking", job.pipeline().isEmpty());
    return JobConfig.read(job.origin(), json).counted(LOADER).withFingerprints(job.fingerprints());
  }

  private static StrategyTraits traits(JobConfig job) {
    return StrategyProviders.configure(job.strategy(), LOADER).traits();
  }
}
