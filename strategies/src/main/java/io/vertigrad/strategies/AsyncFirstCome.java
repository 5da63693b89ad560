package io.vertigrad.strategies;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertx.core.Future;
import java.util.Optional;

/**
 * Takes one step with every gradient when it arrives and answers that worker immediately.
 *
 * <p>{@code p <- step(p, w(t) g)}, where staleness {@code t} is the version of the parameters minus
 * the version at which the gradient was computed, and {@code w} is 1 or {@code 1 / (1 + t)}
 * (inverse damping, after Zhang et al., "Staleness-aware async-SGD", 2016). Statistics are never
 * damped.
 *
 * <p>A gradient may be corrected for its staleness before, see {@link DelayCompensation}.
 *
 * <p>No worker ever waits. Memory: one scratch array, and with compensation one copy of the
 * partition for each worker.
 */
final class AsyncFirstCome implements ServerStrategy {

  private final Config config;
  private final ServerStrategyContext context;
  private final SingleUpdate single;
  private final Optional<DelayCompensation> compensation;

  AsyncFirstCome(Config config, ServerStrategyContext context) {
    this.config = config;
    this.context = context;
    this.single = new SingleUpdate(context);
    boolean statistic = context.partition().kind() == Block.Kind.STATISTIC;
    this.compensation =
        config
            .compensation()
            .filter(settings -> !statistic)
            .map(settings -> new DelayCompensation(settings, context.store()));
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    int staleness = single.staleness(update);
    if (staleness > config.bound()) {
      answered(update.id());
      return Future.succeededFuture(
          context.answers().parameters(update.id(), Outcome.TOO_STALE, staleness));
    }
    boolean statistic = context.partition().kind() == Block.Kind.STATISTIC;
    float[] gradient = single.gradient(update);
    compensation.ifPresent(each -> each.compensate(update, gradient));
    float weight = statistic ? 1f : config.weight(staleness);
    context.store().apply(gradient, weight, update.samples());
    compensation.ifPresent(DelayCompensation::applied);
    answered(update.id());
    return Future.succeededFuture(
        context.answers().parameters(update.id(), Outcome.APPLIED, staleness));
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public boolean appliesAtOnce() {
    return true;
  }

  private void answered(ExchangeId id) {
    compensation.ifPresent(each -> each.answered(id));
  }

  @Override
  public void repeated(ExchangeId id) {
    answered(id);
  }

  @Override
  public void membershipChanged(Membership now) {
    compensation.ifPresent(each -> each.membershipChanged(now));
  }

  @Override
  public void tick(long nowNanos) {}

  @Override
  public void close(String why) {}

  /**
   * The strategy's section of a job file.
   *
   * @param damping weight of a gradient as a function of its staleness
   * @param bound largest staleness that is applied; {@link Integer#MAX_VALUE} for any
   * @param compensation how gradients are corrected; empty for not at all
   */
  record Config(Damping damping, int bound, Optional<DelayCompensation.Config> compensation) {

    /** The weight of a gradient as a function of its staleness. */
    enum Damping {
      /** The weight is always 1. */
      NONE,
      /** The weight is 1 / (1 + staleness). */
      INVERSE
    }

    Config {
      if (bound < 0) {
        throw new IllegalArgumentException("bound %s: expected at least 0".formatted(bound));
      }
    }

    static Config read(Settings settings) {
      String damping = settings.choice("damping", "none", "none", "inverse");
      Config config =
          new Config(
              damping.equals("inverse") ? Damping.INVERSE : Damping.NONE,
              settings.integer("bound", Integer.MAX_VALUE, 0, Integer.MAX_VALUE),
              DelayCompensation.Config.read(settings));
      settings.refuseUnknown();
      return config;
    }

    /** Returns the factor on a gradient that is {@code staleness} updates old. */
    float weight(int staleness) {
      return damping == Damping.INVERSE ? 1f / (1f + staleness) : 1f;
    }
  }

  /** Registers the strategy as {@code async}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "async";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Config config = Config.read(settings);
      return StrategyFactory.perGradient(context -> new AsyncFirstCome(config, context));
    }
  }
}
