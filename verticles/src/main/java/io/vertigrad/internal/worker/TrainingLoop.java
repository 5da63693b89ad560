package io.vertigrad.internal.worker;

import io.vertigrad.compute.Model;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Ending;
import io.vertigrad.internal.worker.ParameterExchange.Step;
import io.vertigrad.internal.worker.WorkerCounters.LoopProgress;
import io.vertigrad.internal.worker.WorkerThread.WorkerTask;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker's main loop for every strategy. It joins, fetches parameters, then repeats: compute a
 * gradient, exchange it, load the next parameters, until the last version. If the worker is evicted
 * or a server no longer knows its incarnation, it joins again.
 *
 * <p>{@link #run()} belongs to the thread that owns the model, the rest may be called by any
 * thread.
 */
public final class TrainingLoop implements WorkerTask {

  private static final Logger LOG = LoggerFactory.getLogger(TrainingLoop.class);
  private static final long SNAPSHOT_NANOS = 50_000_000;
  private static final int FRUITLESS_JOINS = 5;
  private static final int LEFT_OUT_UNTIL_DIVERGED = 20;

  private final TrainingPlan plan;
  private final JoinRequester requester;
  private final Parts parts;
  private final LongSupplier nanoClock;
  private final StepGate gate;
  private final EpochStatistics statistics = new EpochStatistics();
  private volatile boolean stopping;
  private volatile SenderIdentity evicted;
  private volatile Membership newest = Membership.NONE;
  private volatile ParameterExchange current;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private volatile long samplesOfAll;
  private volatile List<TrainingEvent> news = List.of();
  private GradientSource source;
  private ParameterExchange exchange;
  private WorkerCounters counters;
  private boolean over;
  private long snapshotNanos;
  private int leftOutInARow;

  /** Creates what a worker needs for each incarnation; all on the loop's thread. */
  public interface Parts extends AutoCloseable {

    /** Creates the source of an incarnation's gradients; called before {@link #exchange}. */
    GradientSource source(Incarnation self);

    /** Creates the exchange of an incarnation; it is not open yet. */
    ParameterExchange exchange(Incarnation self);

    /** Returns the number of samples tested so far, if the worker also tests; any thread. */
    default long tested() {
      return 0;
    }

    /** Releases batches and models. */
    @Override
    void close();
  }

  /**
   * Creates a loop that has not begun.
   *
   * @param parts closed by the loop
   * @param nanoClock monotonic clock in nanoseconds
   */
  public TrainingLoop(
      TrainingPlan plan, JoinRequester requester, Parts parts, LongSupplier nanoClock) {
    this.plan = plan;
    this.requester = requester;
    this.parts = parts;
    this.nanoClock = nanoClock;
    this.gate = requester.gate();
  }

  /**
   * Creates the loop of a worker in a job with servers.
   *
   * @param exchange sends partitions to the servers
   * @param data opens the batches of a rank; closed by the loop
   * @param nanoClock monotonic clock in nanoseconds
   */
  public static TrainingLoop withServers(
      Model model,
      TrainingPlan plan,
      PartitionExchange exchange,
      JoinRequester requester,
      BatchOpener data,
      LongSupplier nanoClock) {
    ModelParts parts =
        new ModelParts(
            model,
            data,
            BatchGradients.BatchNumber.STEP,
            self -> new ServerExchange(model, plan, exchange, self, requester.track()),
            requester,
            nanoClock);
    return new TrainingLoop(plan, requester, parts, nanoClock);
  }

  /**
   * Trains until the job's last version.
   *
   * @return true if it was reached or the job ended early; false if the worker was told to stop
   *     before
   * @throws ExchangeException if the exchange with others cannot work; the message says why
   */
  @Override
  public boolean run() {
    try (parts) {
      int fruitless = 0;
      while (!stopping) {
        Optional<Membership.Member> member = requester.join();
        if (member.isEmpty()) {
          return over;
        }
        Ending ending = become(member.get());
        if (over && ending == Ending.COMPLETE) {
          return true;
        }
        boolean refused = ending == Ending.REJOIN && counters.step() == member.get().firstStep();
        fruitless = refused ? fruitless + 1 : 0;
        refuseEndlessJoining(fruitless, member.get());
      }
      return over;
    }
  }

  /** Sets the new membership of the job. */
  public void membershipChanged(Membership now) {
    newest = now;
    ParameterExchange open = current;
    if (open != null) {
      open.membershipChanged(now);
    }
  }

  @Override
  public void stop() {
    stopping = true;
    wake();
  }

  @Override
  public void evicted(int rank, int incarnation) {
    evicted = new SenderIdentity(plan.job(), rank, incarnation);
    wake();
  }

  @Override
  public Future<Path> checkpoint() {
    ParameterExchange open = current;
    return open == null ? Future.failedFuture("it takes no part at the moment") : open.checkpoint();
  }

  /**
   * Returns the counters: at most about 50 ms old while the loop runs, exact after it has ended.
   */
  @Override
  public LoopProgress progress() {
    return progress;
  }

  @Override
  public long samplesOfAll() {
    return samplesOfAll;
  }

  @Override
  public long tested() {
    return parts.tested();
  }

  @Override
  public List<TrainingEvent> news() {
    return news;
  }

  private Ending become(Membership.Member member) {
    SenderIdentity identity = new SenderIdentity(plan.job(), member.rank(), member.incarnation());
    Incarnation self =
        new Incarnation(
            identity,
            plan.lockstep() ? member.activeFrom() : 0,
            gate,
            () -> stopping || identity.equals(evicted));
    source = parts.source(self);
    exchange = parts.exchange(self);
    counters =
        new WorkerCounters(
            identity, member.firstStep(), plan.epochs(), statistics, requester::epochTrained);
    leftOutInARow = 0;
    try {
      exchange.open();
      current = exchange;
      if (newest != Membership.NONE) {
        exchange.membershipChanged(newest);
      }
      return train(self);
    } catch (GroupChangedException ended) {
      return Ending.ABANDONED;
    } finally {
      if (current != null) {
        publish();
        current = null;
      }
      exchange.close();
    }
  }

  /** Returns COMPLETE when the job no longer needs this worker. */
  private Ending train(Incarnation self) {
    long held = -1;
    boolean resting = false;
    while (!self.stop().getAsBoolean()) {
      if (exchange.changed()) {
        Ending ending = exchange.fetch();
        if (exchange.ready()) {
          counters.pulled(exchange.newest(), exchange.step(counters.step()));
        }
        if (ending == Ending.REJOIN) {
          return ending;
        }
        continue;
      }
      long version = exchange.version();
      over = version >= plan.lastVersion() || gate.ended(version);
      if (over && !exchange.staysForOthers()) {
        return Ending.COMPLETE;
      }
      if (!over && exchange.ready() && gate.open(version) && gate.enter(version)) {
        resting = false;
        try {
          if (step(version) == Ending.REJOIN) {
            return Ending.REJOIN;
          }
        } catch (GroupChangedException changed) {
          LOG.info("step {} given up, {}", version, changed.getMessage());
        }
        continue;
      }
      if (!resting) {
        resting = true;
        publish();
      }
      if (gate.held(version) && held != version) {
        held = version;
        exchange.hold(version);
      }
      gate.idle();
      if (gate.ended(version) && !gate.resting() && exchange.end(version)) {
        gate.rest();
      }
      exchange.idle(version);
    }
    return Ending.ABANDONED;
  }

  private Ending step(long version) {
    long start = nanoClock.getAsLong();
    Optional<ParameterExchange.Overlap> overlap = exchange.overlap(counters.step());
    Computed gradient =
        overlap.isPresent()
            ? source.compute(version, counters.step(), overlap.get())
            : source.compute(version, counters.step());
    counters.computed(gradient);
    long begun = nanoClock.getAsLong();
    Step became = exchange.exchange(gradient, counters.step());
    long ended = nanoClock.getAsLong();
    if (became.ending() == Ending.COMPLETE) {
      counters.exchanged(gradient, became, exchange.newest(), ended - begun, exchange.traffic());
      counters.took(ended - start);
      watchDivergence(became, gradient.loss());
    }
    if (ended - snapshotNanos >= SNAPSHOT_NANOS) {
      snapshotNanos = ended;
      publish();
    }
    return became.ending();
  }

  /** Publishes the progress for other threads. */
  private void publish() {
    samplesOfAll = exchange.samplesOfAll();
    news = exchange.news();
    progress = counters.snapshot();
  }

  private void watchDivergence(Step became, double loss) {
    leftOutInARow = became.leftOut().isPresent() ? leftOutInARow + 1 : 0;
    if (leftOutInARow >= LEFT_OUT_UNTIL_DIVERGED) {
      throw new ExchangeException(
          ("worker %d: training diverged: %d gradients in a row were refused, the last at step %d"
                  + " (loss %s): %s. Lower optimizer.learningRate or set optimizer.clipNorm")
              .formatted(
                  counters.snapshot().rank(),
                  leftOutInARow,
                  counters.step(),
                  loss,
                  became.leftOut().get()));
    }
  }

  private void refuseEndlessJoining(int fruitless, Membership.Member member) {
    if (fruitless > FRUITLESS_JOINS && !stopping) {
      throw new ExchangeException(
          ("worker %d joined %d times in a row and was refused before a step was answered, last as"
                  + " incarnation %d; do servers and coordinator belong to the same job?")
              .formatted(member.rank(), fruitless, member.incarnation()));
    }
  }

  private void wake() {
    ParameterExchange open = current;
    if (open != null) {
      open.wake();
    }
  }

  /** Lets a training loop join its job and report to it. */
  @FunctionalInterface
  public interface JoinRequester {

    /**
     * Joins as a new incarnation and waits until the job runs. Blocks the loop's thread.
     *
     * @return the worker's new rank and incarnation; empty if the worker was told to stop
     * @throws RuntimeException with a message for the user if the job refuses the worker
     */
    Optional<Membership.Member> join();

    /** Returns the gate that the loop asks before each step. The default gate is always open. */
    default StepGate gate() {
      return new StepGate();
    }

    /** Receives the statistics of each epoch that the worker has trained. */
    default void epochTrained(EpochTrained epoch) {}

    /** Returns the recorder for the loop's timeline. */
    default SpanRecorder track() {
      return SpanRecorder.OFF;
    }
  }

  /** Creates the source and the exchange of a worker with a whole model, for each incarnation. */
  static final class ModelParts implements TrainingLoop.Parts {

    private final Model model;
    private final BatchesOfRank batches;
    private final BatchGradients.BatchNumber number;
    private final Function<Incarnation, ParameterExchange> exchanges;
    private final JoinRequester requester;
    private final LongSupplier nanoClock;

    /**
     * Creates the parts of a worker.
     *
     * @param data opens the batches of a rank
     * @param number the number that selects a batch
     * @param exchanges creates the parameter exchange of an incarnation
     */
    ModelParts(
        Model model,
        BatchOpener data,
        BatchGradients.BatchNumber number,
        Function<Incarnation, ParameterExchange> exchanges,
        JoinRequester requester,
        LongSupplier nanoClock) {
      this.model = model;
      this.batches = new BatchesOfRank(data);
      this.number = number;
      this.exchanges = exchanges;
      this.requester = requester;
      this.nanoClock = nanoClock;
    }

    @Override
    public GradientSource source(Incarnation self) {
      int rank = self.identity().rank();
      return new BatchGradients(
          model, step -> batches.of(rank, step), number, nanoClock, requester.track());
    }

    @Override
    public ParameterExchange exchange(Incarnation self) {
      return exchanges.apply(self);
    }

    @Override
    public void close() {
      batches.close();
    }
  }
}
