package io.vertigrad.internal.worker;

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
import io.vertigrad.strategy.GradientProgress;
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

  private final Environment environment;
  private final Incarnation self;
  private final ReplicaModel model;
  private final ReplicaDuties duties;
  private StrategyHost host;
  private volatile StrategyHost.Service readerService;
  private volatile PeerStrategySession session;
  private boolean settled;
  private Optional<OverlappedGradient> overlapped = Optional.empty();
  private ExchangeTiming timing = ExchangeTiming.NONE;

  /**
   * The environment of an exchange.
   *
   * @param findHost finds the strategy verticle of a rank and its incarnation
   * @param end ends the worker
   * @param span name of the wait for the next parameters in the timeline
   * @param lastVersion the job's last version
   * @param nanoClock monotonic clock in nanoseconds
   * @param waitClock monotonic clock in nanoseconds; limits how long the exchange waits for others
   * @param timeline records what the worker does
   */
  public record Environment(
      BiFunction<Integer, Integer, Future<StrategyHost>> findHost,
      Runnable end,
      JobConfig job,
      String span,
      long lastVersion,
      LongSupplier nanoClock,
      LongSupplier waitClock,
      SpanRecorder timeline) {}

  /** Creates an exchange that is not open yet. */
  public StrategyExchange(
      Environment environment, Incarnation self, ReplicaModel model, ReplicaDuties duties) {
    this.environment = environment;
    this.self = self;
    this.model = model;
    this.duties = duties;
  }

  @Override
  public void open() {
    int rank = self.identity().rank();
    int incarnation = self.identity().incarnation();
    JobConfig job = environment.job();
    host = host(environment.findHost().apply(rank, incarnation));
    session =
        host.open(
            new PeerStrategySession.Setup(
                self.identity(),
                job.nameOf(Role.WORKER.lower(), rank),
                model.layout(),
                model.vector(),
                model::optimizer,
                environment.nanoClock(),
                environment.waitClock(),
                environment.timeline(),
                self.stop()),
            environment.end());
    Future<?> reading =
        host.serve(job.addresses().shard(rank, incarnation), duties.endpoint())
            .onSuccess(service -> readerService = service);
    await(Future.all(session.open(), reading, duties.open()));
    session.gradientArray().ifPresent(model::gradientsInto);
    duties.remembers(session::memory);
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
  public Status status() {
    if (session.hasNewGroup() || !settled && session.isCurrent() && duties.reconsiders()) {
      return Status.NEEDS_FETCH;
    }
    return settled && session.isCurrent() && duties.current() ? Status.READY : Status.WAITING;
  }

  @Override
  public long version() {
    return model.vector().updates();
  }

  /** Every rank takes one step per version, so the next step's number equals the version. */
  @Override
  public Fetch fetch(long step) {
    Ending ending = settle();
    return new Fetch(ending, version(), version());
  }

  private Ending settle() {
    duties.changing();
    try {
      Optional<Next> start = session.settle(duties::fresh, duties::settle);
      settled = start.isPresent();
      start.ifPresent(this::load);
      return Ending.COMPLETE;
    } catch (GroupChangedException changed) {
      return Ending.ABANDONED;
    }
  }

  @Override
  public Optional<Overlap> overlap(long step) {
    abandonOverlap();
    if (environment.job().exchange().overlap()) {
      overlapped = Optional.of(new OverlappedGradient());
    }
    return overlapped.map(Overlap.class::cast);
  }

  /** Ends a gradient that was begun but never completed. */
  private void abandonOverlap() {
    overlapped.ifPresent(OverlappedGradient::end);
    overlapped = Optional.empty();
  }

  @Override
  public Step exchange(Computed gradient, long step) {
    long begun = environment.timeline().now();
    duties.changing();
    try {
      Next next = next(gradient);
      if (!next.applied()) {
        duties.leftOut(version() - 1, gradient.loss());
      }
      duties.stepped(version());
      load(next);
      environment.timeline().span(environment.span(), begun, environment.timeline().now(), step);
      return new Step(
          Ending.COMPLETE,
          next.applied(),
          next.applied()
              ? Optional.empty()
              : Optional.of("it held NaN, infinity or an element beyond exchange.maxMagnitude"),
          OptionalInt.empty(),
          version(),
          traffic());
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
      abandonOverlap();
    }
  }

  /** Loads the next parameters into the model and offers them to readers where that is allowed. */
  private void load(Next next) {
    model.load(next.parameters());
    timing = next.timing();
    long version = version();
    boolean last = version >= environment.lastVersion() || self.gate().ended(version);
    duties.reached(version, next.parameters(), last);
  }

  @Override
  public void awaitChange(long version) {
    duties.idle();
    try {
      session.idle();
    } catch (GroupChangedException changed) {
      // The loop fetches with the new group next.
      return;
    }
  }

  @Override
  public boolean staysForOthers() {
    return true;
  }

  @Override
  public void offerWhilePaused(long version) {
    if (settled) {
      duties.hold(version, model.vector().parameters());
    }
  }

  @Override
  public boolean offerFinal(long version) {
    if (status() != Status.READY) {
      return false;
    }
    duties.end(version, model.vector().parameters());
    return true;
  }

  @Override
  public Future<Path> checkpoint() {
    Future<Path> requested = duties.checkpoint();
    wake();
    return requested;
  }

  @Override
  public Report report() {
    return new Report(
        Math.round(model.vector().samples()),
        List.of(
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
                timing.skipped())));
  }

  /** Returns the bytes sent to and received from each other worker and stage so far. */
  TrafficCounters traffic() {
    TrafficCounters all = new TrafficCounters();
    all.add(duties.traffic());
    all.add(session.traffic());
    return all;
  }

  /** Waits no longer than Vert.x takes to close. */
  @Override
  public void close() {
    abandonOverlap();
    long limit = System.nanoTime() + CLOSE_NANOS;
    Future<?> closings =
        Future.join(
            session == null ? Future.succeededFuture() : session.close(),
            readerService == null
                ? Future.succeededFuture()
                : readerService.close("this worker is stopping; wait for its replacement"),
            duties.close());
    FutureAwait.await(closings.otherwiseEmpty(), () -> System.nanoTime() > limit);
    if (host != null) {
      host.release();
    }
  }

  /**
   * A gradient that goes to the worker's strategy verticle while it is still being computed. Final
   * elements are copied to the strategy's array and reported to its follower.
   *
   * <p>{@link #await} and {@link #follow} belong to the strategy's thread, everything else to the
   * worker's thread.
   */
  private final class OverlappedGradient implements Overlap, GradientProgress {

    private static final Follower NO_FOLLOWER = (first, end) -> {};

    private final int trainable = model.vector().trainable();
    private Follower follower = NO_FOLLOWER;
    private int readyFrom = trainable;
    private boolean complete;
    private boolean ended;

    @Override
    public void begin(int samples) {
      session.begin(new LocalGradient(model.gradient(trainable, trainable), samples), this);
    }

    @Override
    public synchronized void ready(int first) {
      model.gradient(first, readyFrom);
      int end = readyFrom;
      readyFrom = first;
      follower.ready(first, end);
    }

    /** Marks the whole gradient as final. */
    synchronized void complete() {
      if (readyFrom > 0) {
        ready(0);
      }
      int length = model.vector().length();
      model.gradient(trainable, length);
      complete = true;
      follower.ready(trainable, length);
      notifyAll();
    }

    /** Ends the gradient: the rest will not come, or nobody needs it. */
    synchronized void end() {
      follower = NO_FOLLOWER;
      ended = true;
      notifyAll();
    }

    @Override
    public synchronized void await() {
      try {
        while (!complete && !ended) {
          wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (!complete) {
        throw new GroupChangedException("this incarnation has ended");
      }
    }

    @Override
    public synchronized void follow(Follower now) {
      follower = ended ? NO_FOLLOWER : now;
      if (readyFrom < trainable) {
        follower.ready(readyFrom, trainable);
      }
      if (complete) {
        follower.ready(trainable, model.vector().length());
      }
    }
  }
}
