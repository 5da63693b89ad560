package io.vertigrad.strategies;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StragglerReport;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.Waiting;
import io.vertx.core.Future;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Takes one step with every gradient when it arrives, but a worker more than {@code staleness}
 * steps ahead of the slowest waits for its answer (stale synchronous parallel: Ho et al., "More
 * effective distributed ML via a stale synchronous parallel parameter server", NIPS 2013).
 *
 * <p>{@code p <- step(p, g)} immediately; the answer is sent when {@code clock(worker) - min clock
 * <= staleness}, where a clock counts a worker's applied updates. With 0 all workers move together.
 *
 * <p>While the job is paused nobody waits, because the slowest takes no step either. So after a
 * pause a worker may be one step further ahead.
 *
 * <p>Clocks are not part of a checkpoint: after a restart all start equal. Memory: one scratch
 * array, and one waiting answer per worker.
 */
final class BoundedStaleness implements ServerStrategy {

  private final Config config;
  private final ServerStrategyContext context;
  private final SingleUpdate single;
  private final WorkerClocks clocks;
  private final Map<Integer, Waiting> waiting = new LinkedHashMap<>();
  private boolean paused;

  BoundedStaleness(Config config, ServerStrategyContext context) {
    this.config = config;
    this.context = context;
    this.single = new SingleUpdate(context);
    this.clocks = new WorkerClocks(context.membership());
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    int staleness = single.staleness(update);
    single.apply(update, 1f);
    clocks.advance(update.id().worker());
    Waiting worker = Waiting.of(update.id(), staleness, context.nanoClock().getAsLong());
    waiting.put(update.id().worker(), worker);
    release();
    return worker.promise().future();
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public boolean appliesAtOnce() {
    return true;
  }

  @Override
  public void membershipChanged(Membership now) {
    clocks.membershipChanged(now);
    remove(worker -> worker.hasLeft(now)).forEach(worker -> worker.refuseAsLeft(now));
    release();
  }

  @Override
  public void paused(boolean paused) {
    this.paused = paused;
    release();
  }

  @Override
  public void tick(long nowNanos) {
    List<Waiting> overdue = remove(worker -> worker.exceeds(config.deadlineMillis(), nowNanos));
    overdue.forEach(worker -> worker.refuse(Reason.DEADLINE, overdue(worker)));
  }

  @Override
  public Optional<StragglerReport> heldUp() {
    return waiting.isEmpty()
        ? Optional.empty()
        : Optional.of(
            StragglerReport.of(
                context.partition().index(), clocks.slowest(), clocks.slowestRanks()));
  }

  @Override
  public void close(String why) {
    remove(worker -> true).forEach(worker -> worker.refuse(Reason.UNAVAILABLE, why));
  }

  private void release() {
    boolean nobodyWaits = paused || context.store().version() >= context.lastVersion();
    long largestClock = clocks.slowest() + config.staleness();
    remove(worker -> nobodyWaits || clocks.of(worker.id().worker()) <= largestClock)
        .forEach(
            worker ->
                worker.answer(
                    context
                        .answers()
                        .parameters(worker.id(), Outcome.APPLIED, worker.staleness())));
  }

  private List<Waiting> remove(Predicate<Waiting> chosen) {
    List<Waiting> taken = waiting.values().stream().filter(chosen).toList();
    taken.forEach(worker -> waiting.remove(worker.id().worker()));
    return taken;
  }

  private String overdue(Waiting worker) {
    int rank = worker.id().worker();
    return ("ssp: partition %s: worker %s is at step %s and has waited %s ms for %s; see what"
            + " holds it up, or raise strategy.deadlineMillis or strategy.staleness (%s)")
        .formatted(
            context.partition().index(),
            rank,
            clocks.of(rank),
            config.deadlineMillis(),
            clocks.describeSlowest(),
            config.staleness());
  }

  /**
   * The strategy's section of a job file.
   *
   * @param staleness number of steps that a worker may be ahead of the slowest
   * @param deadlineMillis longest time that a worker waits for the slowest
   */
  record Config(int staleness, long deadlineMillis) {

    Config {
      if (staleness < 0 || deadlineMillis < 1) {
        throw new IllegalArgumentException(
            "staleness %s, deadline %s ms: expected at least 0 and 1"
                .formatted(staleness, deadlineMillis));
      }
    }

    static Config read(Settings settings) {
      Config config =
          new Config(
              settings.integer("staleness", 3, 0, 1_000_000),
              settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, 86_400_000));
      settings.refuseUnknown();
      return config;
    }
  }

  /** Registers the strategy as {@code ssp}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "ssp";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Config config = Config.read(settings);
      return StrategyFactory.perGradient(context -> new BoundedStaleness(config, context));
    }
  }

  /**
   * Counts the applied updates of each worker. A newcomer starts at the count of the slowest
   * worker.
   */
  private static final class WorkerClocks {

    private final Map<Integer, Clock> clocks = new TreeMap<>();

    private record Clock(Member member, long steps) {}

    WorkerClocks(Membership membership) {
      membershipChanged(membership);
    }

    void membershipChanged(Membership now) {
      clocks
          .values()
          .removeIf(clock -> !now.hasWorker(clock.member().rank(), clock.member().incarnation()));
      long start = slowest();
      now.workers().forEach(m -> clocks.putIfAbsent(m.rank(), new Clock(m, start)));
    }

    void advance(int rank) {
      clocks.computeIfPresent(rank, (r, clock) -> new Clock(clock.member(), clock.steps() + 1));
    }

    long of(int rank) {
      Clock clock = clocks.get(rank);
      return clock == null ? slowest() : clock.steps();
    }

    /** Returns the clock of the slowest worker; 0 if there is no worker. */
    long slowest() {
      return clocks.values().stream().mapToLong(Clock::steps).min().orElse(0);
    }

    List<Integer> slowestRanks() {
      return ofSlowest().map(Member::rank).toList();
    }

    String describeSlowest() {
      List<String> names =
          ofSlowest()
              .map(m -> "worker %s (incarnation %s)".formatted(m.rank(), m.incarnation()))
              .toList();
      return StragglerReport.listed(names, ", ") + " at step " + slowest();
    }

    private Stream<Member> ofSlowest() {
      long slowest = slowest();
      return clocks.values().stream().filter(clock -> clock.steps() == slowest).map(Clock::member);
    }
  }
}
