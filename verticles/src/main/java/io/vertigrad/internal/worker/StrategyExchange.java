package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.host.PeerStrategySession;
import io.vertigrad.internal.host.PeerStrategySession.Next;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
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
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The exchange with this worker's strategy verticle, which communicates with other workers. */
public final class StrategyExchange implements ParameterExchange {

  private static final long CLOSE_NANOS = 2_000_000_000;

  private final Environment environment;
  private final Incarnation self;
  private final ReplicaModel model;
  private final ReplicaAgreement agreement;
  private final ReplicaSaves saves;
  private final SnapshotServer snapshots;
  private StrategyHost host;
  private volatile StrategyHost.Service readerService;
  private volatile PeerStrategySession session;
  private boolean settled;
  private boolean inParts;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  /**
   * The environment of an exchange.
   *
   * @param finder finds the strategy verticle of a rank and its incarnation
   * @param end ends the worker
   * @param span name of the wait for the next parameters in the timeline
   * @param lastVersion the job's last version
   * @param nanoClock monotonic clock in nanoseconds
   * @param waitClock monotonic clock in nanoseconds; limits how long the exchange waits for others
   * @param timeline records what the worker does
   * @param tests when readers get the parameters, besides where a group begins and at the end
   */
  public record Environment(
      StrategyFinder finder,
      Runnable end,
      JobConfig job,
      String span,
      long lastVersion,
      LongSupplier nanoClock,
      LongSupplier waitClock,
      SpanRecorder timeline,
      EvaluationPlan tests) {}

  /**
   * Creates an exchange that is not open yet.
   *
   * @param agreement agrees with each new group on the version to continue from
   * @param saves writes checkpoints of the replica
   * @param snapshots serves the replica's parameters to readers
   */
  public StrategyExchange(
      Environment environment,
      Incarnation self,
      ReplicaModel model,
      ReplicaAgreement agreement,
      ReplicaSaves saves,
      SnapshotServer snapshots) {
    this.environment = environment;
    this.self = self;
    this.model = model;
    this.agreement = agreement;
    this.saves = saves;
    this.snapshots = snapshots;
  }

  @Override
  public void open() {
    int rank = self.identity().rank();
    int incarnation = self.identity().incarnation();
    JobConfig job = environment.job();
    host = host(environment.finder().beside(rank, incarnation));
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
        host.serve(job.addresses().shard(rank, incarnation), snapshots)
            .onSuccess(service -> readerService = service);
    Future<?> copying =
        saves
            .copies()
            .map(copies -> copies.open(self.identity()))
            .orElseGet(Future::succeededFuture);
    await(Future.all(session.open(), reading, copying));
    Optional<float[]> array = session.gradientArray();
    array.ifPresent(model::gradientsInto);
    // A strategy that waits for the whole gradient leaves it on the device.
    inParts = job.exchange().overlap() && (array.isPresent() || !model.vector().isOnDevice());
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
    saves.copies().ifPresent(copies -> copies.membershipChanged(now));
    PeerStrategySession open = session;
    if (open != null) {
      open.membershipChanged(now);
    }
  }

  @Override
  public void wake() {
    PeerStrategySession open = session;
    if (open != null) {
      open.wake();
    }
  }

  @Override
  public State state() {
    return new State(status(), version());
  }

  private Status status() {
    if (session.hasNewGroup() || !settled && session.isCurrent() && agreement.reconsiders()) {
      return Status.NEEDS_FETCH;
    }
    return settled && session.isCurrent() ? Status.READY : Status.WAITING;
  }

  private long version() {
    return model.vector().updates();
  }

  /** Every rank takes one step per version, so the next step's number equals the version. */
  @Override
  public Fetch fetch(long step) {
    Ending ending = settle();
    return new Fetch(ending, version(), version());
  }

  private Ending settle() {
    saves.changing();
    try {
      Optional<Next> start = session.settle(agreement::isFresh, agreement::settle);
      settled = start.isPresent();
      start.ifPresent(next -> load(next, true));
      return Ending.COMPLETE;
    } catch (GroupChangedException changed) {
      return Ending.ABANDONED;
    }
  }

  @Override
  public Step exchange(long step, Computation computation) {
    if (!inParts) {
      Computed gradient = computation.compute(Optional.empty());
      return exchange(gradient, step, () -> next(gradient));
    }
    OverlappedGradient overlapped = new OverlappedGradient();
    try {
      Computed gradient = computation.compute(Optional.of(overlapped));
      return exchange(
          gradient, step, () -> overlapped.begun ? overlapped.finish() : next(gradient));
    } finally {
      overlapped.end();
    }
  }

  private Next next(Computed gradient) {
    return session.exchange(
        model.vector().isOnDevice()
            ? new LocalGradient(model::gradient, gradient.samples())
            : new LocalGradient(model.gradient(), gradient.samples()));
  }

  private Step exchange(Computed gradient, long step, Supplier<Next> answer) {
    long begun = environment.timeline().now();
    saves.changing();
    try {
      Next next = answer.get();
      if (!next.applied()) {
        model.leftOut(version() - 1, gradient.loss());
      }
      if (saves.due(version())) {
        save();
      }
      load(next, false);
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

  /** Loads the next parameters into the model, and publishes them if readers get this version. */
  private void load(Next next, boolean begins) {
    next.parameters().ifPresent(model::load);
    timing = next.timing();
    long version = version();
    boolean last = version >= environment.lastVersion() || self.gate().ended(version);
    agreement.reached();
    model.reached(version);
    if (last || begins || environment.tests().isDue(version)) {
      snapshots.publish(version, next.parameters().orElseGet(model::parameters));
    }
  }

  private Future<Path> save() {
    return saves.write(model, session.memory());
  }

  @Override
  public void awaitChange(long version) {
    saves.idle(
        () ->
            agreement.isSettled()
                ? save()
                : Future.failedFuture(
                    environment.job().nameOf(Role.WORKER.lower(), self.identity().rank())
                        + " has not begun"));
    try {
      session.idle();
    } catch (GroupChangedException changed) {
      // The loop fetches with the new group next.
      return;
    }
  }

  @Override
  public boolean offer(long version, boolean last) {
    boolean whole = last ? status() == Status.READY : settled;
    if (whole) {
      snapshots.publish(version, model.vector().parameters());
    }
    return whole;
  }

  @Override
  public Future<Path> checkpoint() {
    Future<Path> requested = saves.ask();
    wake();
    return requested;
  }

  @Override
  public Report report() {
    return new Report(
        Math.round(model.vector().samples()),
        saves.costMillis(),
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

  /** Returns a copy of the bytes sent to and received from each other worker so far. */
  TrafficCounters traffic() {
    TrafficCounters copy = new TrafficCounters();
    copy.add(session.traffic());
    return copy;
  }

  /** Waits no longer than Vert.x takes to close. */
  @Override
  public void close() {
    long limit = System.nanoTime() + CLOSE_NANOS;
    Future<?> sessionClosing = session == null ? Future.succeededFuture() : session.close();
    boolean stage = environment.job().pipeline().isPresent();
    saves.close("this %s is stopping".formatted(stage ? "stage" : "worker"));
    Future<?> closings =
        Future.join(
            sessionClosing,
            saves.copies().map(StateCopies::close).orElseGet(Future::succeededFuture),
            readerService == null
                ? Future.succeededFuture()
                : readerService.close("this worker is stopping; wait for its replacement"));
    FutureAwait.await(closings.otherwiseEmpty(), () -> System.nanoTime() > limit);
    if (host != null) {
      environment.finder().release(host);
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
    private boolean begun;
    private boolean complete;
    private boolean ended;
    private Throwable failure;

    @Override
    public void begin(int samples) {
      begun = true;
      session.begin(new LocalGradient(model.gradient(trainable, trainable), samples), this);
    }

    @Override
    public synchronized void ready(int first) {
      model.gradient(first, readyFrom);
      int end = readyFrom;
      readyFrom = first;
      pass(first, end);
    }

    /** Passes elements on to the rule; {@link #await} throws what it throws here. */
    private void pass(int first, int end) {
      try {
        follower.ready(first, end);
      } catch (Throwable thrown) {
        failure = failure == null ? thrown : failure;
        follower = NO_FOLLOWER;
      }
    }

    /** Marks the whole gradient as final, and returns the next parameters. */
    Next finish() {
      complete();
      return session.finish();
    }

    private synchronized void complete() {
      if (readyFrom > 0) {
        ready(0);
      }
      int length = model.vector().length();
      model.gradient(trainable, length);
      complete = true;
      pass(trainable, length);
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
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure != null) {
        throw (RuntimeException) failure;
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
