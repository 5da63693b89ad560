package io.vertigrad.federated;

import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.List;

/**
 * Registers the strategy {@code robust}: rounds of gradients as in {@code sync}, combined so that a
 * few wrong workers cannot decide the result.
 *
 * <p>Keys: those of the reduction ({@code reduction}, {@code liars}, {@code bucket}, {@code
 * neighbours}, {@code clipRadius}, {@code expel}); {@code momentum}, with which workers send their
 * momentum in place of gradients; {@code deadlineMillis}. With {@code reduction} {@code mean} and
 * without momentum it is {@code sync}.
 */
public final class RobustStrategy implements StrategyProvider {

  private static final String NAME = "robust";
  private static final double MOST_MOMENTUM = 0.999_999;
  private static final long MOST_MILLIS = 86_400_000;

  /** Creates the provider; called by the service loader. */
  public RobustStrategy() {}

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    ReductionConfig reduction =
        ReductionConfig.read(settings, ReductionConfig.Kind.CENTRED_CLIPPING);
    double momentum = settings.number("momentum", 0, 0, MOST_MOMENTUM);
    long deadlineMillis =
        settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, MOST_MILLIS);
    settings.refuseUnknown();
    StrategyTraits traits = reduction.traits(StrategyTraits.atServers(Rounds.EVERY_RANK));
    StrategyFactory rounds =
        StrategyFactory.besideServers(
                traits, context -> reduction.barrier(NAME, 0, deadlineMillis, context))
            .readingJob(
                (job, context) -> reduction.barrier(NAME, job.seed(), deadlineMillis, context))
            .checking(reduction::check);
    StrategyFactory factory = reduction.leavingOut(rounds);
    return momentum == 0
        ? factory
        : factory
            .compressingWith((blocks, partitions) -> momentum(momentum, blocks))
            .checking(RobustStrategy::requirePlainExchange);
  }

  private static GradientCompression momentum(double beta, List<Block> blocks) {
    int trainable =
        blocks.stream()
            .filter(block -> block.kind() == Block.Kind.TRAINABLE)
            .mapToInt(Block::length)
            .sum();
    return new WorkerMomentum(beta, trainable);
  }

  /** A momentum takes the place of a compression, and needs the whole gradient. */
  private static void requirePlainExchange(JobConfig job) {
    Settings exchange = job.settings().section("exchange");
    if (job.exchange().compression().isOn()) {
      throw exchange.refuse(
          "compression",
          "is \"%s\" with strategy.momentum, expected \"none\": workers send their momentum as it is"
              .formatted(job.exchange().compression()));
    }
    if (job.exchange().overlap()) {
      throw exchange.refuse(
          "overlap",
          "is true with strategy.momentum, expected false: nothing is sent before the whole gradient is there");
    }
  }
}
