package io.vertigrad.federated;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.LocalRule;
import java.util.Optional;

/**
 * The local steps of one worker: whether it takes part in a round, the rule beside them, and the
 * privacy of what it sends. Without noise, the norm that is clipped includes statistics.
 */
final class FederatedSteps implements LocalRule {

  private final Participation participation;
  private final int ranks;
  private final boolean restarts;
  private final LocalRule rule;
  private final Optional<UpdatePrivacy> privacy;

  private FederatedSteps(
      Participation participation,
      int ranks,
      boolean restarts,
      LocalRule rule,
      Optional<UpdatePrivacy> privacy) {
    this.participation = participation;
    this.ranks = ranks;
    this.restarts = restarts;
    this.rule = rule;
    this.privacy = privacy;
  }

  /**
   * Creates the local steps of a worker.
   *
   * @throws io.vertigrad.compute.settings.SettingsException if the model has statistics, which
   *     noise would make useless
   */
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
    if (config.noise() > 0 && layout.trainable() < layout.length()) {
      throw job.settings()
          .section("strategy")
          .refuse(
              "noise",
              "is %s with a model that has running statistics, such as those of batch normalisation, expected a model without: noise makes variances negative"
                  .formatted(config.noise()));
    }
    Optional<UpdatePrivacy> privacy =
        config.clip() == 0
            ? Optional.empty()
            : Optional.of(new UpdatePrivacy(config.clip(), config.noise()));
    return new FederatedSteps(participation, ranks, !config.keepsOptimizer(), rule, privacy);
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
    privacy.ifPresent(each -> each.apply(moved));
  }

  @Override
  public float[] memory() {
    return rule.memory();
  }
}
