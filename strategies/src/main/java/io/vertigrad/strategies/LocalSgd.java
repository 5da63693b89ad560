package io.vertigrad.strategies;

import io.vertigrad.collective.AllReduce;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.Optional;

/**
 * Local SGD: every worker takes steps alone. After every H steps all take the mean of their
 * parameters and statistics, {@code x_i <- sum_j x_j / N}; Stich 2019.
 *
 * <p>The mean is computed by an {@link AllReduce}, so all workers agree bit for bit after it. The
 * optimizer's state stays local.
 *
 * <p>Compressed, workers exchange how far they have moved since the last average: {@link DiLoCo}
 * with an outer step of rate 1 without momentum.
 */
final class LocalSgd implements PeerStrategy {

  private final Config config;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private PeerGroup group;
  private AllReduce reduction;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  LocalSgd(Config config, PeerContext context) {
    this.config = config;
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(context.optimizer());
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    reduction = AllReduce.of(context, now, replica.length());
    new InitialSync(context, now).synchronize(fresh);
    round = InitialSync.ROUNDS;
  }

  /** Does nothing: workers do not exchange before the next average. */
  @Override
  public void begin() {}

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    if (!replica.step(optimizer, gradient, samples)) {
      timing = timing.plusSkipped();
    }
    if (replica.updates() % config.every() == 0 && group.size() > 1) {
      average();
    }
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  /** Returns 1, because all workers agree after an average. */
  @Override
  public double spectralGap() {
    return 1;
  }

  private void average() {
    long begun = context.nanoClock().getAsLong();
    float[] mean = replica.parameters().clone();
    reduction.sum(round, mean);
    AllReduce.divide(mean, 0, mean.length, group.size());
    replica.setParameters(mean);
    timing = timing.plus(begun, begun, context.peers().arrivedNanos());
    round++;
  }

  /**
   * The strategy's section of a job file.
   *
   * @param every number of steps between two averages
   */
  record Config(long every) {

    static Config read(Settings settings) {
      Config config = new Config(settings.longInteger("every", 10, 1, 1_000_000_000));
      settings.refuseUnknown();
      return config;
    }

    private DiLoCo.Config compressed() {
      return new DiLoCo.Config(new FragmentSchedule(every, 1, 0), 0, 1, 0);
    }
  }

  /** Registers the strategy as {@code local}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "local";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Config config = Config.read(settings);
      return StrategyFactory.besideWorkers(
              StrategyTraits.atWorkers(Rounds.EVERY_RANK)
                  .agreeingEvery(config.every())
                  .compressing(),
              context ->
                  context.compression().isOn()
                      ? new DiLoCo(config.compressed(), Optional.empty(), context)
                      : new LocalSgd(config, context))
          .checking(Provider::refuseCompressedPipeline);
    }

    /** A stage may go on with its parameters in memory after it has lost the residuals. */
    private static void refuseCompressedPipeline(JobConfig job) {
      if (job.pipeline().isPresent() && job.exchange().compression().isOn()) {
        throw job.settings()
            .section("exchange")
            .refuse(
                "compression",
                "is \"%s\" with strategy local in a pipeline, expected \"none\""
                    .formatted(job.exchange().compression()));
      }
    }
  }
}
