package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.internal.worker.LoopProgress;
import io.vertigrad.internal.worker.PeerTask;
import io.vertigrad.internal.worker.StepGate;
import io.vertigrad.internal.worker.WorkerCounters;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerStrategy;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One incarnation of a stage, from its first agreement with the others to the job's end. */
final class StageSession implements PeerTask.Session {

  private static final Logger LOG = LoggerFactory.getLogger(StageSession.class);
  private static final long CLOSE_NANOS = 2_000_000_000;
  private static final int SAVES = 4;

  private final StageContext setting;
  private final StageReplica replica;
  private final SenderIdentity identity;
  private final StepGate gate;
  private final BooleanSupplier stop;
  private final PipelineConfig pipeline;
  private final StageGroup group;
  private final PeerStrategy strategy;
  private final StageNeighbours neighbours;
  private final StageVersions versions;
  private final WorkerCounters counters;
  private final BlockingQueue<Promise<Path>> saves = new ArrayBlockingQueue<>(SAVES);
  private long movedNanos;
  private long waitedNanos;

  /**
   * A session that has not begun.
   *
   * @param gate opens when the job goes on
   * @param stop becomes true when this incarnation is to end
   */
  StageSession(
      StageContext setting,
      StageReplica replica,
      SenderIdentity identity,
      StepGate gate,
      BooleanSupplier stop) {
    this.setting = setting;
    this.replica = replica;
    this.identity = identity;
    this.gate = gate;
    this.stop = stop;
    JobConfig job = setting.job();
    pipeline = job.pipeline().orElseThrow();
    group =
        new StageGroup(
            setting.vertx(),
            job,
            setting.plan().hash(),
            identity,
            setting.patience(),
            setting.track(),
            stop);
    strategy = replica.strategy(setting.strategy(), group.peers(), setting.nanoClock());
    neighbours = group.neighbours(job, setting.nanoClock());
    versions =
        new StageVersions(setting, replica, identity, group.neighbours(job, setting.nanoClock()));
    counters =
        new WorkerCounters(
            identity,
            Epochs.of(job, setting.strategy(), setting.trainingSamples()),
            setting.events()::accept);
  }

  /** Listens to other stages and readers; blocks until they can send. */
  @Override
  public void open() {
    FutureAwait.await(Future.all(group.open(), versions.open()), () -> false);
  }

  @Override
  public void membershipChanged(Membership now) {
    group.membershipChanged(now);
  }

  @Override
  public void wake() {
    group.wake();
  }

  /** Takes steps until told to end, then lets readers look until then. */
  void run(StepBatches batches, Consumer<StageSession> news) {
    while (!stop.getAsBoolean()) {
      try {
        if (group.changed()) {
          regroup();
        }
        while (mayStep() && gate.enter(version())) {
          step(batches);
          news.accept(this);
        }
        news.accept(this);
        rest();
        while (!stop.getAsBoolean() && !group.changed() && !mayStep()) {
          save();
          endEarly();
          group.pause();
        }
      } catch (GroupChangedException changed) {
        LOG.info("{}: step {} given up, {}", name(), version(), changed.getMessage());
      }
    }
  }

  /** Has a checkpoint written by this stage's thread when it is in no step; from any thread. */
  Future<Path> checkpoint() {
    Promise<Path> asked = Promise.promise();
    if (!saves.offer(asked)) {
      return Future.failedFuture("%d checkpoints are being waited for already".formatted(SAVES));
    }
    wake();
    return asked.future();
  }

  /** Lets go of all addresses; waits no longer than a closing Vert.x takes. */
  @Override
  public void close() {
    for (Promise<Path> late = saves.poll(); late != null; late = saves.poll()) {
      late.fail("this stage is stopping");
    }
    long limit = System.nanoTime() + CLOSE_NANOS;
    FutureAwait.await(
        Future.join(group.close(), versions.close()).otherwiseEmpty(),
        () -> System.nanoTime() > limit);
  }

  @Override
  public LoopProgress progress() {
    long moved = neighbours.movedNanos();
    long waited = neighbours.waitedNanos();
    counters.moved(moved - movedNanos, group.traffic());
    counters.waited(waited - waitedNanos);
    movedNanos = moved;
    waitedNanos = waited;
    return counters.snapshot();
  }

  /** Shows readers what it holds when no step may begin, whichever version that is. */
  private void rest() {
    if (group.ready() && gate.held(version())) {
      versions.rest(version());
    }
    gate.idle();
  }

  private void save() {
    Promise<Path> asked = saves.poll();
    if (asked != null) {
      versions
          .write()
          .ifPresentOrElse(asked::complete, () -> asked.fail("it could not be written"));
    }
  }

  private boolean mayStep() {
    boolean able = group.ready() && !finished() && !stop.getAsBoolean();
    return able && gate.open(version());
  }

  /** The job ends here, at a version that nobody took for the last. */
  private void endEarly() {
    if (group.ready() && gate.ended(version()) && !gate.resting() && !finished()) {
      versions.ended(version());
      gate.rest();
    }
  }

  private void regroup() {
    if (!group.adopt()) {
      LOG.warn(
          "{}: step {} cannot go on without {}; the job waits for a replacement",
          name(),
          version(),
          group.missing());
      return;
    }
    List<StageState> points = replica.points(setting.checkpoints(), identity);
    CheckpointAgreement.Agreed agreed =
        CheckpointAgreement.hold(
                group.peers(),
                group.all(),
                points,
                ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE))
            .orElseThrow(() -> StageErrors.nothingInCommon(name(), points));
    if (!agreed.from().equals(replica.point())) {
      replica.restore(setting.checkpoints().restore(identity.rank(), agreed.from()));
    }
    replica.belongsTo(agreed.run());
    strategy.open(group.replicas(), false);
    replica.load();
    counters.pulled(version());
    versions.reached(version());
    LOG.info("{}: goes on at step {}", name(), version());
  }

  private void step(StepBatches batches) {
    long step = version();
    long started = setting.nanoClock().getAsLong();
    Batch batch = batches.of(step);
    counters.waited(setting.nanoClock().getAsLong() - started);
    strategy.begin();
    StageStep work = work(step, batch);
    long begun = setting.nanoClock().getAsLong();
    average(step, work);
    long averaged = setting.nanoClock().getAsLong();
    setting.track().span("update", begun, averaged, step);
    counters.computed(setting.sizes().epoch(step), work.computedNanos());
    counters.moved(averaged - begun, group.traffic());
    int counted = replica.model().hasLoss() ? setting.sizes().of(step) : 0;
    counters.stepped(counted, work.loss(), work.correct(), version());
    counters.took(averaged - started);
    versions.reached(version());
  }

  /** All of a step's actions; parameters stay as they are. */
  private StageStep work(long step, Batch batch) {
    int samples = setting.sizes().of(step);
    int parts = Math.min(pipeline.microBatches(), samples);
    StageStep work =
        new StageStep(
            replica.model(),
            neighbours,
            setting.nanoClock(),
            setting.track(),
            step + 1,
            samples,
            parts,
            batch,
            replica.gradient());
    Schedule schedule = Schedule.named(pipeline.schedule(), pipeline.stages(), parts);
    work.run(schedule.stages().get(pipeline.stageOf(identity.rank())));
    return work;
  }

  private void average(long step, StageStep work) {
    long skipped = strategy.timing().skipped();
    strategy.complete(new LocalGradient(replica.gradient(), setting.sizes().of(step)));
    if (strategy.timing().skipped() > skipped) {
      throw StageErrors.diverged(name(), step, work.loss());
    }
    replica.load();
  }

  private boolean finished() {
    return version() >= setting.lastVersion();
  }

  private long version() {
    return replica.vector().updates();
  }

  private String name() {
    return pipeline.name(identity.rank());
  }
}
