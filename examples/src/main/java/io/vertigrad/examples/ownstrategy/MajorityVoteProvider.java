package io.vertigrad.examples.ownstrategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;

/** Registers {@link MajorityVote} as {@code majority-vote}; named in META-INF/services. */
public final class MajorityVoteProvider implements StrategyProvider {

  @Override
  public String name() {
    return "majority-vote";
  }

  /** Returns the rule, which needs every worker of a step and leaves all with the same bits. */
  @Override
  public StrategyFactory configure(Settings settings) {
    settings.refuseUnknown();
    StrategyTraits traits = StrategyTraits.atWorkers(Rounds.EVERY_RANK).agreeingEvery(1);
    return StrategyFactory.besideWorkers(traits, MajorityVote::new);
  }
}
