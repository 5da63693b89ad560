package io.vertigrad.strategies;

import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.Optional;

/**
 * {@code diloco} with parameter servers: a round of the servers is a synchronisation, in which they
 * take an outer step with the mean pseudo-gradient, weighted by samples. The workers take their
 * steps in between by themselves.
 *
 * <p>With a quorum, a pseudo-gradient that comes after its round has closed joins the open one.
 *
 * @param quorum number of pseudo-gradients that close a round; 0 for those of all workers
 * @param graceMillis how long a round stays open after its quorum
 * @param deadlineMillis longest time that a pseudo-gradient waits for the others
 */
record OuterRounds(int quorum, long graceMillis, long deadlineMillis) {

  private static final long MOST_MILLIS = 86_400_000;

  /** Returns empty if the strategy's section asks for no servers. */
  static Optional<OuterRounds> read(Settings settings) {
    boolean servers = settings.flag("servers", false);
    OuterRounds rounds =
        new OuterRounds(
            settings.integer("quorum", 0, 0, 4096),
            settings.longInteger("graceMillis", 0, 0, MOST_MILLIS),
            settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, MOST_MILLIS));
    if (!servers && rounds.quorum() > 0) {
      throw settings.refuse(
          "quorum",
          "is %s without servers, expected \"servers\": true, or 0: workers among themselves wait for all"
              .formatted(rounds.quorum()));
    }
    if (rounds.quorum() == 0 && rounds.graceMillis() > 0) {
      throw settings.refuse(
          "graceMillis",
          "is %s without a quorum, expected a quorum above 0, or 0"
              .formatted(rounds.graceMillis()));
    }
    return servers ? Optional.of(rounds) : Optional.empty();
  }

  StrategyFactory factory(DiLoCo.Config config, Settings settings) {
    refuseFragments(config, settings);
    StrategyTraits traits =
        StrategyTraits.atServers(quorum == 0 ? Rounds.EVERY_RANK : Rounds.SOME_RANKS)
            .steppingLocally(config.schedule().syncEvery());
    return StrategyFactory.besideServers(traits, this::rule)
        .steppingWith(outer(config))
        .checking(this::check);
  }

  private ServerStrategy rule(ServerStrategyContext context) {
    return quorum == 0
        ? Barrier.summing("diloco", 0, deadlineMillis, context, true)
        : Barrier.merging("diloco", quorum, graceMillis, deadlineMillis, context, true);
  }

  private static OptimizerConfig outer(DiLoCo.Config config) {
    OptimizerConfig sgd = OptimizerConfig.sgd(config.outerLearningRate());
    double momentum = config.outerMomentum();
    return momentum == 0
        ? sgd
        : new OptimizerConfig(
            "nesterov",
            sgd.learningRate(),
            momentum,
            0,
            sgd.beta1(),
            sgd.beta2(),
            sgd.epsilon(),
            0,
            0,
            0,
            LearningRateSchedule.constant());
  }

  private static void refuseFragments(DiLoCo.Config config, Settings settings) {
    String whole = "expected %s with servers: they synchronise the whole model at once";
    if (config.schedule().fragments() > 1) {
      throw settings.refuse(
          "fragments", "is %s, ".formatted(config.schedule().fragments()) + whole.formatted("1"));
    }
    if (config.schedule().delay() > 0) {
      throw settings.refuse(
          "fragmentSyncDelay",
          "is %s, ".formatted(config.schedule().delay()) + whole.formatted("0"));
    }
    if (config.fragmentUpdateAlpha() > 0) {
      throw settings.refuse(
          "fragmentUpdateAlpha",
          "is %s, ".formatted(config.fragmentUpdateAlpha()) + whole.formatted("0"));
    }
  }

  private void check(JobConfig job) {
    DiLoCo.Provider.refusePipeline(job);
    Settings strategy = job.settings().section("strategy");
    if (job.exchange().overlap()) {
      throw job.settings()
          .section("exchange")
          .refuse(
              "overlap",
              "is true with strategy diloco, expected false: workers send after several steps");
    }
    if (job.data().name().equals("stream")) {
      throw strategy.refuse(
          "servers",
          "is true with data set stream, expected false: a server counts synchronisations, a stream steps");
    }
  }
}
