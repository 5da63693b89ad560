package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.host.PeerStrategySession;
import io.vertigrad.internal.host.PeerStrategySession.Next;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;

/** The exchange with this worker's strategy verticle, which communicates with other workers. */
public final class StrategyExchange implements ParameterExchange {

  private static final long CLOSE_NANOS = 2_000_000_000;

  private final Surroundings around;
  private final Incarnation self;
  private final ReplicaModel model;
  private final ReplicaDuties duties;
  private StrategyHost host;
  private volatile StrategyHost.Service readers;
  private volatile PeerStrategySession session;
  private boolean settled;
  private Optional<OverlappedGradient> overlapped = Optional.empty();
  private ExchangeTiming timing = ExchangeTiming.NONE;

  /**
   * What an exchange needs from its environment.
   *
   * @param beside finds the strategy verticle of a rank and its incarnation
   * @param end ends the worker
   * @param span name of the wait for the next parameters in the timeline
   * @param lastVersion the job's last version
   * @param nanoClock monotonic clock in nanoseconds
   * @param patience monotonic clock in nanoseconds; limits how long the exchange waits for others
   * @param track records what the worker does
   */
  public record Surroundings(
      BiFunction<Integer, Integer, Future<StrategyHost>> beside,
      Runnable end,
      JobConfig job,
      String span,
      long lastVersion,
      LongSupplier nanoClock,
      LongSupplier patience,
      SpanRecorder track) {}

  /** Creates an exchange that is not open yet. */
  public StrategyExchange(
      Surroundings around, Incarnation self, ReplicaModel model, ReplicaDuties duties) {
    this.around = around;
    this.self = self;
    this.model = model;
    this.duties = duties;
  }

  @Override
  public void open() {
    int rank = self.identity().rank();
    int incarnation = self.identity().incarnation();
    JobConfig job = around.job();
    host = host(around.beside().apply(rank, incarnation));
    session =
        host.open(
            new PeerStrategySession.Setup(
                self.identity(),
                job.nameOf(Role.WORKER.lower(), rank),
                model.layout(),
                model.vector(),
                model::optimizer,
                around.nanoClock(),
                around.patience(),
                around.track(),
                self.stop()),
            around.end());
    Future<?> reading =
        host.serve(job.addresses().shard(rank, incarnation), duties.endpoint())
            .onSuccess(service -> readers = service);
    await(Future.all(session.open(), reading, duties.open()));
    session.gradientArray().ifPresent(model::gradientsInto);
    duties.remembers(session::memory);
  }

  @Override
  public void membershipChanged(Membership now) {
    duties.membershipChanged(now);
    PeerStrategySession open = session;
    if (open != null) {
      open.membershipChanged(now);
    }
  }

  @Override
  public void wake() {
    duties.wake();
    PeerStrategySession open = session;
    if (open != null) {
      open.wake();
    }
  }

  @Override
  public boolean changed() {
    return session.changed() || !settled && session.current() && duties.reconsiders();
  }

  @Override
  public Ending fetch() {
    duties.changing();
    try {
      Optional<Next> start = session.settle(duties::fresh, duties::settle);
      settled = start.isPresent();
      start.ifPresent(this::goOn);
      return Ending.COMPLETE;
    } catch (GroupChangedException changed) {
      return Ending.ABANDONED;
    }
  }

  @Override
  public boolean ready() {
    return settled && session.current() && duties.current();
  }

  @Override
  public long version() {
    return model.vector().updates();
  }

  /** Every rank takes one step per version, so the step number equals the version. */
  @Override
  public long step(long counted) {
    return version();
  }

  @Override
  public Optional<Overlap> overlap(long step) {
    letGo();
    if (around.job().exchange().overlap()) {
      overlapped = Optional.of(new OverlappedGradient(model, session));
    }
    return overlapped.map(Overlap.class::cast);
  }

  /** Ends a gradient that was begun but never completed. */
  private void letGo() {
    overlapped.ifPresent(OverlappedGradient::end);
    overlapped = Optional.empty();
  }

  @Override
  public Step exchange(Computed gradient, long step) {
    long begun = around.track().now();
    duties.changing();
    try {
      Next next = next(gradient);
      if (!next.applied()) {
        duties.leftOut(version() - 1, gradient.loss());
      }
      duties.stepped(version());
      goOn(next);
      around.track().span(around.span(), begun, around.track().now(), step);
      return new Step(
          Ending.COMPLETE,
          next.applied(),
          next.applied()
              ? Optional.empty()
              : Optional.of("it held NaN, infinity or an element beyond exchange.maxMagnitude"),
          OptionalInt.empty());
    } catch (GroupChangedException changed) {
      return Step.without(Ending.ABANDONED);
    }
  }

  private Next next(Computed gradient) {
    if (overlapped.isEmpty()) {
      return session.exchange(new LocalGradient(model.gradient(), gradient.samples()));
    }
    try {
      overlapped.get().complete();
      return session.finish();
    } finally {
      letGo();
    }
  }

  @Override
  public boolean staysForOthers() {
    return true;
  }

  @Override
  public void hold(long version) {
    if (settled) {
      duties.hold(version, model.vector().parameters());
    }
  }

  @Override
  public boolean end(long version) {
    if (!ready()) {
      return false;
    }
    duties.end(version, model.vector().parameters());
    return true;
  }

  @Override
  public void idle(long version) {
    duties.idle();
    try {
      session.idle();
    } catch (GroupChangedException changed) {
      // The loop fetches with the new group next.
      return;
    }
  }

  @Override
  public TrafficCounters traffic() {
    TrafficCounters all = new TrafficCounters();
    all.add(duties.traffic());
    all.add(session.traffic());
    return all;
  }

  @Override
  public long samplesOfAll() {
    return Math.round(model.vector().samples());
  }

  @Override
  public List<TrainingEvent> news() {
    return List.of(
        new PeerExchange(
            System.currentTimeMillis(),
            self.identity().rank(),
            self.identity().incarnation(),
            model.vector().updates(),
            model.vector().epochs(),
            timing.exchangeNanos() / 1e9,
            timing.waitedNanos() / 1e9,
            timing.hiddenShare(),
            session.spectralGap(),
            timing.skipped()));
  }

  @Override
  public Future<Path> checkpoint() {
    Future<Path> asked = duties.checkpoint();
    wake();
    return asked;
  }

  /** Waits no longer than Vert.x takes to close. */
  @Override
  public void close() {
    letGo();
    long limit = System.nanoTime() + CLOSE_NANOS;
    Future<?> lines =
        Future.join(
            session == null ? Future.succeededFuture() : session.close(),
            readers == null
                ? Future.succeededFuture()
                : readers.close("this worker is stopping; wait for its replacement"),
            duties.close());
    FutureAwait.await(lines.otherwiseEmpty(), () -> System.nanoTime() > limit);
    if (host != null) {
      host.release();
    }
  }

  /** Loads the next parameters into the model and offers them to readers where that is allowed. */
  private void goOn(Next next) {
    model.load(next.parameters());
    timing = next.timing();
    long version = version();
    boolean last = version >= around.lastVersion() || self.gate().ended(version);
    duties.reached(version, next.parameters(), last);
  }

  private StrategyHost host(Future<StrategyHost> found) {
    try {
      return await(found);
    } catch (GroupChangedException ended) {
      found.onSuccess(StrategyHost::release);
      throw ended;
    }
  }

  private <T> T await(Future<T> future) {
    return FutureAwait.await(future, self.stop())
        .orElseThrow(() -> new GroupChangedException("this incarnation has ended"));
  }
}
