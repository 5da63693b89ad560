package io.vertigrad.federated;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.LocalRule;

/** The local steps of one worker: whether it takes part in a round, and the rule beside them. */
final class FederatedSteps implements LocalRule {

  private final Participation participation;
  private final int ranks;
  private final boolean restarts;
  private final LocalRule rule;

  private FederatedSteps(Participation participation, int ranks, boolean restarts, LocalRule rule) {
    this.participation = participation;
    this.ranks = ranks;
    this.restarts = restarts;
    this.rule = rule;
  }

  static LocalRule of(FederatedConfig config, JobConfig job, ParameterLayout layout) {
    Participation participation = config.participation(job.seed());
    int ranks = job.workers().count();
    double part = (double) participation.of(ranks) / ranks;
    double rate = job.optimizer().learningRate();
    LocalRule rule =
        switch (config.rule()) {
          case FEDPROX -> new ProximalTerm(config.mu(), layout.trainable());
          case SCAFFOLD ->
              new ControlVariates(rate, config.serverLearningRate(), part, layout.trainable());
          default -> LocalRule.NONE;
        };
    return new FederatedSteps(participation, ranks, !config.keepsOptimizer(), rule);
  }

  /** The rule sees every version, whether the worker takes part or not. */
  @Override
  public long begin(Round round, float[] parameters) {
    long steps = rule.begin(round, parameters);
    boolean takesPart =
        participation.isFull() || participation.chosen(round.version(), ranks).get(round.rank());
    return takesPart ? steps : 0;
  }

  @Override
  public boolean restartsOptimizer() {
    return restarts;
  }

  @Override
  public boolean adjusts() {
    return rule.adjusts();
  }

  @Override
  public void adjust(float[] parameters, float[] gradient) {
    rule.adjust(parameters, gradient);
  }

  @Override
  public void finish(float[] moved) {
    rule.finish(moved);
  }

  @Override
  public float[] memory() {
    return rule.memory();
  }
}
