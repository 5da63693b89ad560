package io.vertigrad.internal.worker;

import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.Model;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Fetch;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import io.vertigrad.internal.worker.ParameterExchange.Report;
import io.vertigrad.internal.worker.ParameterExchange.State;
import io.vertigrad.internal.worker.ParameterExchange.Status;
import io.vertigrad.internal.worker.ParameterExchange.Step;
import io.vertigrad.internal.worker.WorkerCounters.EpochStatistics;
import io.vertigrad.internal.worker.WorkerCounters.LoopProgress;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.DivergedException;
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
public final class TrainingLoop {

  private static final Logger LOG = LoggerFactory.getLogger(TrainingLoop.class);
  private static final long PUBLISH_NANOS = 50_000_000;
  private static final long PULL_NANOS = 500_000_000;
  private static final int JOINS_WITHOUT_STEP_LIMIT = 5;

  private final TrainingPlan plan;
  private final JoinRequester requester;
  private final Sources sources;
  private final Function<Incarnation, ParameterExchange> exchanges;
  private final LongSupplier nanoClock;
  private final StepGate gate;
  private final EpochStatistics statistics = new EpochStatistics();
  private volatile boolean stopping;
  private volatile boolean leaving;
  private volatile SenderIdentity evicted;
  private volatile Membership newest = Membership.NONE;
  private volatile ParameterExchange current;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private volatile Report report = Report.NONE;
  private volatile GradientSource source;
  private volatile long computing;
  private ParameterExchange exchange;
  private WorkerCounters counters;
  private Computed gradient;
  private long computedNanos;
  private boolean jobOver;
  private long publishedNanos;
  private long pulledNanos;
  private int leftOutInSequence;
  private long leftOutVersion;

  /** Creates the source of each incarnation's gradients, on the loop's thread. */
  @FunctionalInterface
  public interface Sources extends AutoCloseable {

    /** Creates the source of an incarnation, before its exchange is created. */
    GradientSource source(Incarnation self);

    /** Returns the number of samples tested so far, if the worker also tests; any thread. */
    default long tested() {
      return 0;
    }

    /** Releases batches and models. */
    @Override
    default void close() {}
  }

  /**
   * Creates a loop that has not begun.
   *
   * @param sources closed by the loop
   * @param exchanges creates the exchange of an incarnation, which is not open yet
   * @param nanoClock monotonic clock in nanoseconds
   */
  public TrainingLoop(
      TrainingPlan plan,
      JoinRequester requester,
      Sources sources,
      Function<Incarnation, ParameterExchange> exchanges,
      LongSupplier nanoClock) {
    this.plan = plan;
    this.requester = requester;
    this.sources = sources;
    this.exchanges = exchanges;
    this.nanoClock = nanoClock;
    this.gate = requester.gate();
  }

  /**
   * Creates the loop of a worker in a job with servers.
   *
   * @param client sends partitions to the servers
   * @param data opens the batches of a rank; closed by the loop
   * @param nanoClock monotonic clock in nanoseconds
   */
  public static TrainingLoop withServers(
      Model model,
      TrainingPlan plan,
      PartitionClient client,
      JoinRequester requester,
      BatchOpener data,
      LongSupplier nanoClock) {
    return new TrainingLoop(
        plan,
        requester,
        new ModelSources(
            model,
            data,
            BatchGradients.BatchNumber.STEP,
            requester,
            nanoClock,
            Optional.empty(),
            Optional.empty()),
        self ->
            new ServerExchange(
                model,
                plan,
                client,
                self,
                requester.timeline(),
                Optional.empty(),
                Optional.empty(),
                0,
                Optional.empty(),
                false),
        nanoClock);
  }

  /**
   * Trains until the job's last version.
   *
   * @return true if it was reached or the job ended early; false if the worker was told to stop
   *     before
   * @throws ExchangeException if the exchange with others cannot work; the message says why
   */
  public boolean run() {
    try (sources) {
      int joinsWithoutStep = 0;
      while (!stopping && !leaving) {
        Optional<Membership.Member> member = requester.join();
        if (member.isEmpty()) {
          return jobOver;
        }
        Ending ending = trainAs(member.get());
        if (jobOver && ending == Ending.COMPLETE) {
          return true;
        }
        boolean refused = ending == Ending.REJOIN && counters.step() == member.get().firstStep();
        joinsWithoutStep = refused ? joinsWithoutStep + 1 : 0;
        refuseEndlessJoining(joinsWithoutStep, member.get());
      }
      return jobOver;
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

  /** Ends {@link #run()} soon: at the latest after the gradient that is being computed. */
  public void stop() {
    stopping = true;
    wake();
  }

  /** Ends {@link #run()} before the next step: a step that has begun is finished. */
  public void leave() {
    leaving = true;
    wake();
  }

  /** Makes {@link #run()} join again if this rank and incarnation are its own: it was evicted. */
  public void evicted(int rank, int incarnation) {
    evicted = new SenderIdentity(plan.job(), rank, incarnation);
    wake();
  }

  /**
   * Writes a checkpoint of the state that only this worker holds, as soon as it is in no step.
   *
   * @return the file; fails where workers keep no checkpoints
   */
  public Future<Path> checkpoint() {
    ParameterExchange open = current;
    return open == null ? Future.failedFuture("it takes no part at the moment") : open.checkpoint();
  }

  /**
   * Returns the counters: at most about 50 ms old while the loop runs, exact after it has ended.
   */
  public LoopProgress progress() {
    return progress;
  }

  /** Returns the version of the parameters of the gradient that is or was computed last. */
  long computing() {
    return computing;
  }

  /** Sets it for a gradient that is computed outside of {@link #run}, for another JVM. */
  void computing(long version) {
    computing = version;
  }

  /** Returns what the newest progress report adds to the counters. */
  public Report report() {
    return report;
  }

  /** Returns what the newest progress report adds about the source of gradients; any thread. */
  public List<TrainingEvent> events() {
    GradientSource open = source;
    return open == null ? List.of() : open.events();
  }

  /** Returns true while the worker takes no step because there are no data; any thread. */
  public boolean awaitsData() {
    GradientSource open = source;
    return open != null && open.awaitsData();
  }

  /** Returns the number of samples tested so far, if the worker also tests; otherwise 0. */
  public long tested() {
    return sources.tested();
  }

  private Ending trainAs(Membership.Member member) {
    SenderIdentity identity = new SenderIdentity(plan.job(), member.rank(), member.incarnation());
    Incarnation self =
        new Incarnation(
            identity,
            plan.lockstep() ? member.activeFrom() : 0,
            member.firstStep(),
            gate,
            () -> stopping || identity.equals(evicted));
    source = sources.source(self);
    exchange = exchanges.apply(self);
    counters =
        new WorkerCounters(
            identity, member.firstStep(), plan.epochs(), statistics, requester::epochTrained);
    leftOutInSequence = 0;
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
      source.close();
    }
  }

  /** Returns COMPLETE when the job no longer needs this worker. */
  private Ending train(Incarnation self) {
    long offered = -1;
    boolean published = false;
    while (!self.stop().getAsBoolean() && !leaving) {
      State state = exchange.state();
      if (state.status() == Status.NEEDS_FETCH) {
        Fetch fetch = exchange.fetch(counters.step());
        if (exchange.state().status() == Status.READY) {
          counters.continueAt(fetch.highestVersion(), fetch.nextStep());
        }
        if (fetch.ending() == Ending.REJOIN) {
          return Ending.REJOIN;
        }
        continue;
      }
      long version = state.version();
      long order = gate.order();
      jobOver = version >= plan.lastVersion() || gate.ended(version);
      if (jobOver) {
        source.ended(version, counters.step());
      }
      if (jobOver && !plan.replicas()) {
        return Ending.COMPLETE;
      }
      boolean ready = !jobOver && state.status() == Status.READY;
      boolean open = ready && gate.open(version);
      boolean data = !open || source.await(version, counters.step(), gate.mustPass(version));
      if (open && data && gate.tryBegin(version)) {
        published = false;
        try {
          if (step(version) == Ending.REJOIN) {
            return Ending.REJOIN;
          }
        } catch (GroupChangedException changed) {
          LOG.info("step {} given up, {}", version, changed.getMessage());
        }
        continue;
      }
      if (!published) {
        published = true;
        publish();
      }
      if (!data) {
        if (!plan.lockstep() && pullNewest() == Ending.REJOIN) {
          return Ending.REJOIN;
        }
        continue;
      }
      if (gate.isPausedAt(version) && offered != version) {
        offered = version;
        exchange.offer(version, false);
      }
      gate.idle(order);
      if (gate.ended(version) && !gate.finished() && exchange.offer(version, true)) {
        gate.markFinished();
      }
      exchange.awaitChange(version);
    }
    return Ending.ABANDONED;
  }

  /** Finds out how far the others are while this worker has no data: they may reach the end. */
  private Ending pullNewest() {
    long now = nanoClock.getAsLong();
    if (now - pulledNanos < PULL_NANOS) {
      return Ending.COMPLETE;
    }
    pulledNanos = now;
    Fetch fetch = exchange.fetch(counters.step());
    counters.continueAt(fetch.highestVersion(), fetch.nextStep());
    return fetch.ending();
  }

  private Ending step(long version) {
    long start = nanoClock.getAsLong();
    Step result = exchange.exchange(counters.step(), overlap -> compute(version, overlap));
    long ended = nanoClock.getAsLong();
    if (result.ending() == Ending.COMPLETE) {
      counters.exchanged(gradient, result, ended - computedNanos);
      counters.recordStepNanos(ended - start);
      source.answered(result.applied());
      watchDivergence(result, gradient.loss());
    }
    if (ended - publishedNanos >= PUBLISH_NANOS) {
      publishedNanos = ended;
      publish();
    }
    return result.ending();
  }

  private Computed compute(long version, Optional<Overlap> overlap) {
    computing = version;
    try {
      gradient = source.compute(version, counters.step(), overlap);
    } catch (RuntimeException | Error thrown) {
      throw JobModel.failure(plan.model(), "step " + counters.step(), thrown);
    }
    counters.computed(gradient);
    computedNanos = nanoClock.getAsLong();
    return gradient;
  }

  /** Publishes the progress for other threads. */
  private void publish() {
    report = exchange.report();
    progress = counters.snapshot();
  }

  private void watchDivergence(Step result, double loss) {
    leftOutInSequence = result.leftOutReason().isPresent() ? leftOutInSequence + 1 : 0;
    if (leftOutInSequence == Divergence.REFUSED_IN_SEQUENCE / 2) {
      leftOutVersion = result.highestVersion();
    }
    if (leftOutInSequence < Divergence.REFUSED_IN_SEQUENCE) {
      return;
    }
    LOG.warn("step {}: {}", counters.step() - 1, result.leftOutReason().get());
    if (!plan.replicas() && !result.applied() && result.highestVersion() > leftOutVersion) {
      throw new ExchangeException(
          "%s gradients in sequence were refused, while those of others are applied: %s; look at the data and the device of this worker"
              .formatted(leftOutInSequence, result.leftOutReason().get()));
    }
    throw new DivergedException(Divergence.at(counters.step() - 1, loss, leftOutInSequence));
  }

  private void refuseEndlessJoining(int joinsWithoutStep, Membership.Member member) {
    if (joinsWithoutStep > JOINS_WITHOUT_STEP_LIMIT && !stopping) {
      throw new ExchangeException(
          ("worker %s joined %s times in a row and was refused before a step was answered, last as"
                  + " incarnation %s; do servers and coordinator belong to the same job?")
              .formatted(member.rank(), joinsWithoutStep, member.incarnation()));
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
    default SpanRecorder timeline() {
      return SpanRecorder.OFF;
    }
  }

  /** Creates the source of a worker with a whole model, for each incarnation. */
  static final class ModelSources implements Sources {

    private final Model model;
    private final BatchesOfRank batches;
    private final BatchGradients.BatchNumber batchNumber;
    private final JoinRequester requester;
    private final LongSupplier nanoClock;
    private final Optional<LocalSteps> local;
    private final Optional<BatchBalance> balance;

    /**
     * Creates the sources of a worker.
     *
     * @param data opens the batches of a rank
     * @param batchNumber the number that selects a batch
     * @param local takes several steps between two exchanges; empty for one
     * @param balance divides rounds by speed; empty for equal batches
     */
    ModelSources(
        Model model,
        BatchOpener data,
        BatchGradients.BatchNumber batchNumber,
        JoinRequester requester,
        LongSupplier nanoClock,
        Optional<LocalSteps> local,
        Optional<BatchBalance> balance) {
      this.model = model;
      this.batches = new BatchesOfRank(data);
      this.batchNumber = batchNumber;
      this.requester = requester;
      this.nanoClock = nanoClock;
      this.local = local;
      this.balance = balance;
    }

    @Override
    public GradientSource source(Incarnation self) {
      int rank = self.identity().rank();
      GradientSource single =
          new BatchGradients(
              model,
              step -> batches.batch(rank, step),
              batches::peek,
              batchNumber,
              nanoClock,
              requester.timeline(),
              batches.begin(rank));
      return local
          .map(steps -> steps.source(self, single))
          .or(() -> balance.map(shares -> shares.source(self, batches, single)))
          .orElse(single);
    }

    @Override
    public void close() {
      batches.close();
    }
  }
}
