package io.vertigrad.internal.pipeline;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;

/** The strategy by which the replicas of a stage take their steps, if it fits a pipeline. */
public final class ReplicaRule {

  private ReplicaRule() {}

  /**
   * Returns a job's strategy. It must work without servers, and all replicas must agree whenever
   * the model is tested or saved, because that uses those of replica 0.
   *
   * @throws IllegalArgumentException when the strategy does not fit, with the reason
   */
  public static StrategyFactory of(JobConfig job) {
    StrategyFactory strategy =
        StrategyProviders.configure(job.strategy(), ReplicaRule.class.getClassLoader());
    StrategyTraits traits = strategy.traits();
    if (traits.besideServers()) {
      throw refused(job, "it sits beside servers, and a pipeline has none");
    }
    long every = traits.agreesEvery();
    if (every == 0) {
      throw refused(job, "with it the replicas of a stage never agree on one model");
    }
    if (job.steps() % every != 0) {
      throw refusedInterval(job, every, steps(job), job.steps());
    }
    double interval = EvaluationPlan.of(job, traits).interval();
    if (job.evaluator().count() > 0 && interval % every != 0 && interval < job.steps()) {
      boolean epochs = job.evaluator().everyEpochs() > 0;
      String key = epochs ? "evaluator.everyEpochs (in steps)" : "evaluator.every";
      throw refusedInterval(job, every, key, (long) Math.ceil(interval));
    }
    return strategy;
  }

  private static String steps(JobConfig job) {
    String asked = "steps (of %s)".formatted(job.length());
    return job.length().unit() == Unit.STEPS ? "steps" : asked;
  }

  private static IllegalArgumentException refused(JobConfig job, String why) {
    return new IllegalArgumentException(
        "%s: strategy.name is \"%s\", expected \"allreduce\" or \"local\" with a pipeline: %s"
            .formatted(job.origin(), job.strategy().name(), why));
  }

  private static IllegalArgumentException refusedInterval(
      JobConfig job, long every, String key, long found) {
    return new IllegalArgumentException(
        ("%s: %s is %s, expected a multiple of %s with strategy \"%s\": replicas of a stage agree"
                + " only after as many steps")
            .formatted(job.origin(), key, found, every, job.strategy().name()));
  }
}
