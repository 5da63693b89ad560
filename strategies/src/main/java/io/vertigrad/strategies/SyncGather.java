package io.vertigrad.strategies;

import io.vertigrad.collective.PowerSgd;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategies.SyncGather.Config.Reduction;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.Optional;

/**
 * Creates a {@link Barrier} that takes one step with the sum or mean of the workers' gradients.
 *
 * <p>{@code p <- step(p, sum_i g_i)} or {@code p <- step(p, sum_i n_i g_i / sum_i n_i)}, always in
 * rank order, so a run repeats bit for bit whatever the order of arrival. Statistics are always
 * averaged.
 *
 * <p>Memory: one array for the sum, and the gradients that arrived before a lower rank's (with a
 * quorum: all of the round). These gradients are unanswered, so each worker's window bounds them.
 *
 * <p>Without a quorum the round waits for the rank of a worker that leaves, and keeps the gradient
 * that it sent. With a quorum, and for workers beyond the ranks of the job, the gradient of a
 * worker that leaves stays in the open round if it was summed already; otherwise it is dropped.
 */
final class SyncGather {

  private SyncGather() {}

  static ServerStrategy of(Config config, ServerStrategyContext context) {
    boolean mean =
        config.reduction() == Reduction.MEAN || context.partition().kind() == Block.Kind.STATISTIC;
    return Barrier.summing("sync", config.quorum(), config.deadlineMillis(), context, mean);
  }

  /**
   * The strategy's section of a job file.
   *
   * @param reduction combines the gradients of one round
   * @param quorum number of gradients that close a round; 0 for all active workers
   * @param deadlineMillis longest time that a gradient waits for the others
   * @param powerSgdRank rank of the factors in which gradients travel; 0 for the gradient itself
   */
  record Config(Reduction reduction, int quorum, long deadlineMillis, int powerSgdRank) {

    /** The combination of the gradients of one round. */
    enum Reduction {
      /** The plain sum: the effective learning rate grows with the number of workers. */
      SUM,
      /** The mean, weighted by training samples. */
      MEAN
    }

    Config {
      if (quorum < 0 || deadlineMillis < 1) {
        throw new IllegalArgumentException(
            "quorum %s, deadline %s ms: expected at least 0 and 1"
                .formatted(quorum, deadlineMillis));
      }
    }

    private static Reduction reduction(Settings settings) {
      String reduction = settings.choice("reduction", "mean", "sum", "mean");
      return reduction.equals("sum") ? Reduction.SUM : Reduction.MEAN;
    }

    static Config read(Settings settings) {
      Config config =
          new Config(
              reduction(settings),
              settings.integer("quorum", 0, 0, 4096),
              settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, 86_400_000),
              settings.integer("powerSgdRank", 0, 0, AllReduceStrategy.Config.MOST_RANK));
      settings.refuseUnknown();
      return config;
    }

    private void check(JobConfig job) {
      if (reduction == Reduction.SUM && job.workers().balancesSpeed()) {
        throw job.settings()
            .section("strategy")
            .refuse(
                "reduction",
                "is \"sum\" with workers.balance \"speed\", expected \"mean\": a sum counts the"
                    + " mean of a small batch like that of a large one; use \"mean\", and "
                    + job.workers().count()
                    + " times the learning rate");
      }
      AllReduceStrategy.Config.requireAlone(powerSgdRank, job);
      if (powerSgdRank > 0 && job.exchange().overlap()) {
        throw job.settings()
            .section("exchange")
            .refuse(
                "overlap",
                "is true with strategy.powerSgdRank %s, expected false".formatted(powerSgdRank));
      }
    }
  }

  /**
   * Registers the strategy as {@code sync}. Between groups it runs beside workers: those of a group
   * take the same steps, so they need no server.
   */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "sync";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      boolean sums = Config.reduction(settings) == Reduction.SUM;
      Optional<Hierarchy> hierarchy = Hierarchy.read(settings, sums);
      Config config = Config.read(settings);
      if (hierarchy.isPresent()) {
        hierarchy.get().refuse(settings, "quorum", config.quorum() > 0);
        hierarchy.get().refuse(settings, "powerSgdRank", config.powerSgdRank() > 0);
        return hierarchy.get().factory();
      }
      Rounds rounds = config.quorum() == 0 ? Rounds.EVERY_RANK : Rounds.SOME_RANKS;
      StrategyFactory factory =
          StrategyFactory.besideServers(
                  StrategyTraits.atServers(rounds), context -> SyncGather.of(config, context))
              .checking(config::check);
      int rank = config.powerSgdRank();
      return rank == 0
          ? factory
          : factory.compressingWith((blocks, partitions) -> new PowerSgd(blocks, partitions, rank));
    }
  }
}
