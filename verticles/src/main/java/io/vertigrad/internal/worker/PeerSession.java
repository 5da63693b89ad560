package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.HostedEndpoint;
import io.vertigrad.internal.peer.PeerFrames;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.worker.PeerTrainingLoop.PeerTrainingPlan;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertx.core.Future;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** One incarnation of a worker among its peers, from its first agreement to the job's end. */
final class PeerSession implements PeerTask.Session {

  private static final long SNAPSHOT_NANOS = 50_000_000;
  private static final long CLOSE_NANOS = 2_000_000_000;
  private static final long SKIPPED_UNTIL_DIVERGED = 20;

  private final PeerTrainingPlan plan;
  private final PeerReplica replica;
  private final EvaluationPlan evaluations;
  private final SenderIdentity identity;
  private final BooleanSupplier stop;
  private final StepGate gate;
  private final WorkerPeers peers;
  private final SnapshotServer endpoint;
  private final HostedEndpoint hosted;
  private final PeerStrategy strategy;
  private final WorkerCounters counters;
  private boolean fresh = true;
  private double spectralGap;
  private long skippedInARow;
  private long toldNanos;

  /**
   * @param stop becomes true when this incarnation is to end
   */
  PeerSession(
      PeerTrainingPlan plan,
      PeerReplica replica,
      SenderIdentity identity,
      StepGate gate,
      BooleanSupplier stop) {
    this.plan = plan;
    this.replica = replica;
    this.identity = identity;
    this.gate = gate;
    this.stop = stop;
    JobConfig job = plan.job();
    this.evaluations = EvaluationPlan.of(job, plan.strategy());
    this.peers =
        new WorkerPeers(
            plan.vertx(),
            job,
            replica.layout(),
            identity,
            plan.patience(),
            plan.track(),
            stop,
            PeerFrames.ofStrategies());
    this.endpoint =
        new SnapshotServer(
            plan.training().partitions(),
            identity.incarnation(),
            plan.training().type(),
            job.exchange().deadlineMillis());
    String address = job.addresses().shard(identity.rank(), identity.incarnation());
    this.hosted = new HostedEndpoint(plan.vertx(), address, endpoint);
    this.strategy = plan.strategy().create(context(job));
    this.counters =
        new WorkerCounters(
            identity,
            plan.training().epochs(),
            new EventPublisher(plan.vertx(), job.addresses())::publish);
  }

  /** Listens to peers and readers; blocks until they can send. */
  @Override
  public void open() {
    FutureAwait.await(Future.all(peers.open(), hosted.open()), () -> false);
  }

  @Override
  public void membershipChanged(Membership now) {
    peers.membershipChanged(now);
  }

  @Override
  public void wake() {
    peers.wake();
  }

  /** Takes steps until told to end, then lets readers look until then. */
  void run(BatchSource batches, Consumer<PeerSession> news) {
    while (!stop.getAsBoolean()) {
      try {
        if (peers.regrouped()) {
          regroup();
        }
        while (mayStep() && gate.enter(version())) {
          step(batches);
          tell(news);
        }
        news.accept(this);
        rest();
        while (!stop.getAsBoolean() && !peers.regrouped() && !mayStep()) {
          endEarly();
          strategy.idle();
          peers.pause();
        }
      } catch (GroupChangedException changed) {
        replica.load();
      }
    }
  }

  /** Lets go of both addresses; waits no longer than a closing Vert.x takes. */
  @Override
  public void close() {
    long limit = System.nanoTime() + CLOSE_NANOS;
    FutureAwait.await(
        Future.join(peers.close(), hosted.close()).otherwiseEmpty(),
        () -> System.nanoTime() > limit);
  }

  @Override
  public LoopProgress progress() {
    return counters.snapshot();
  }

  PeerExchange exchange() {
    ExchangeTiming timing = strategy.timing();
    return new PeerExchange(
        System.currentTimeMillis(),
        identity.rank(),
        identity.incarnation(),
        replica.vector().updates(),
        replica.vector().epochs(),
        timing.exchangeNanos() / 1e9,
        timing.waitedNanos() / 1e9,
        timing.hiddenShare(),
        spectralGap,
        timing.skipped());
  }

  /** Shows readers what it holds when no step may begin, whichever version that is. */
  private void rest() {
    if (!fresh && gate.held(version())) {
      endpoint.publish(version(), replica.vector().parameters());
    }
    gate.idle();
  }

  private boolean mayStep() {
    boolean able = !fresh && !finished() && peers.current() && !stop.getAsBoolean();
    return able && gate.open(version());
  }

  private void regroup() {
    strategy.open(peers.adopt(), fresh);
    fresh = false;
    spectralGap = strategy.spectralGap();
    replica.load();
    counters.pulled(replica.vector().updates());
    show();
  }

  private void step(BatchSource batches) {
    long start = plan.nanoClock().getAsLong();
    Batch batch = batches.next();
    long ready = plan.nanoClock().getAsLong();
    counters.waited(ready - start);
    strategy.begin();
    long begun = plan.nanoClock().getAsLong();
    double loss = replica.compute(batch);
    LocalGradient gradient = replica.gradient(batch.count());
    long computed = plan.nanoClock().getAsLong();
    long skipped = strategy.timing().skipped();
    strategy.complete(gradient);
    replica.load();
    long ended = plan.nanoClock().getAsLong();
    note(start, ready, begun, computed, ended);
    long swapping = begun - ready + ended - computed;
    boolean left = strategy.timing().skipped() > skipped;
    counters.computed(batch.epoch(), computed - begun);
    counters.stepped(left ? 0 : batch.count(), loss, replica.correct(), version());
    counters.moved(swapping, peers.traffic());
    counters.took(ended - start);
    watchDivergence(left, loss);
    show();
  }

  private void note(long start, long ready, long begun, long computed, long ended) {
    long step = counters.step();
    plan.track().span("data", start, ready, step);
    plan.track().span("send", ready, begun, step);
    plan.track().span("compute", begun, computed, step);
    plan.track().span("exchange", computed, ended, step);
  }

  /** Shows readers every version the evaluator may ask for, and the last. */
  private void show() {
    long version = version();
    boolean last = finished() || gate.ended(version);
    if (last || version == 0 || evaluations.isDue(version)) {
      endpoint.publish(version, replica.vector().parameters());
    }
  }

  /** The job ends here, at a version that readers were not shown. */
  private void endEarly() {
    if (!fresh && gate.ended(version()) && !gate.resting()) {
      show();
      gate.rest();
    }
  }

  private void tell(Consumer<PeerSession> news) {
    long now = plan.nanoClock().getAsLong();
    if (now - toldNanos >= SNAPSHOT_NANOS) {
      toldNanos = now;
      news.accept(this);
    }
  }

  private boolean finished() {
    return version() >= plan.training().lastVersion();
  }

  private long version() {
    return replica.vector().updates();
  }

  private void watchDivergence(boolean skipped, double loss) {
    skippedInARow = skipped ? skippedInARow + 1 : 0;
    if (skippedInARow >= SKIPPED_UNTIL_DIVERGED) {
      throw new ExchangeException(
          ("worker %d: training diverged: %d gradients in a row held NaN or infinity, the last at"
                  + " step %d (loss %s). Lower optimizer.learningRate or set optimizer.clipNorm")
              .formatted(identity.rank(), skippedInARow, version(), loss));
    }
  }

  private PeerContext context(JobConfig job) {
    return new PeerContext(
        peers,
        replica.vector(),
        replica::optimizer,
        job.optimizer(),
        job.workers().count(),
        job.workers().batch(),
        plan.training().type(),
        plan.training().compression(),
        job.exchange().partitionElements(),
        plan.nanoClock());
  }
}
