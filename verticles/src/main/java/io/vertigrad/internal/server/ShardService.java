package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.events.Scalars;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.exchange.RuleException;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.ProposalAnswer.Held;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardCounters;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * One shard in service under one admission. It runs on the event loop of the strategy verticle
 * beside it, so that frames, memberships and the clock reach its state from one thread.
 *
 * <p>Belongs to the server's context, on which its futures complete.
 */
final class ShardService {

  private final Context context;
  private final JobConfig job;
  private final Admission admission;
  private final Shard shard;
  private final CheckpointSchedule checkpoints;
  private final Scalars scalars;
  private final StrategyFinder finder;
  private final StrategyHost host;
  private final Consumer<MemberStatus> report;
  private final Consumer<TrainingEvent> events;
  private final ShardEndpoint endpoint;
  private StrategyHost.Service frames;
  private SumExchange sums;
  private boolean hasMembership;
  private Future<Void> closed;

  /**
   * Creates the service of a shard.
   *
   * @param context the server's context
   * @param scalars those of the strategy; published before the service ends
   * @param finder has found {@code host}
   * @param host the strategy verticle beside it
   * @param pausableClock the shard's clock
   * @param report receives the shard's status twice a second, on its event loop
   * @param events receives the shard's counters twice a second, on its event loop
   */
  ShardService(
      Context context,
      JobConfig job,
      Admission admission,
      Shard shard,
      CheckpointSchedule checkpoints,
      Scalars scalars,
      StrategyFinder finder,
      StrategyHost host,
      LongSupplier pausableClock,
      Consumer<MemberStatus> report,
      Consumer<TrainingEvent> events) {
    this.context = context;
    this.job = job;
    this.admission = admission;
    this.shard = shard;
    this.checkpoints = checkpoints;
    this.scalars = scalars;
    this.finder = finder;
    this.host = host;
    this.report = report;
    this.events = events;
    this.endpoint =
        new ShardEndpoint(
            shard,
            pausableClock,
            this::reportProgress,
            () -> checkpoints.tick(shard),
            () -> checkpoints.roundEnded(shard),
            () -> checkpoints.finish(shard, false));
  }

  /** Completes when a rule has thrown; from then on nothing is applied, and nothing is saved. */
  Future<RuleException> failure() {
    return ContextBridge.to(context, shard.failure());
  }

  /** Starts to take frames. */
  Future<ShardService> open() {
    String address = job.addresses().shard(admission.rank(), admission.incarnation());
    return onShardLoop(
            () -> {
              checkpoints.start(shard);
              sums =
                  new SumExchange(
                      context.owner().eventBus(),
                      job.addresses(),
                      admission,
                      shard,
                      endpoint::summed);
              return host.serve(address, endpoint);
            })
        .map(
            serving -> {
              frames = serving;
              return this;
            });
  }

  /** Accepts a proposed membership, or returns the version that forbids it. */
  Future<ProposalAnswer> propose(Membership next) {
    return onShardLoop(
        () -> {
          if (hasMembership) {
            return Future.succeededFuture(withHeldVersions(shard.propose(next)));
          }
          // This incarnation has closed no round yet, whatever version its checkpoint has.
          hasMembership = true;
          return Future.succeededFuture(withHeldVersions(shard.acceptProposal(next)));
        });
  }

  private ProposalAnswer withHeldVersions(ProposalAnswer answer) {
    return shard.hasPartitions() && shard.movesInRounds()
        ? answer.with(new Held(shard.version(), shard.highestVersion(), checkpoints.kept()))
        : answer;
  }

  /** Lets no update follow this version until another one is set. */
  void testAt(long version) {
    runOnShardLoop(() -> shard.testAt(version));
  }

  /** Takes from a pause order whether steps may begin, and the versions of the next checkpoints. */
  void apply(Pause pause) {
    runOnShardLoop(
        () -> {
          shard.paused(pause.holds());
          checkpoints.saveAt(shard, pause.saveAt());
        });
  }

  void membershipChanged(Membership now) {
    runOnShardLoop(
        () -> {
          hasMembership = true;
          shard.membershipChanged(now);
        });
  }

  /**
   * Returns the status for the coordinator: {@code version}, {@code samples}, {@code restored},
   * {@code waiting}; empty without partitions.
   */
  Future<MemberStatus> status() {
    return onShardLoop(() -> Future.succeededFuture(statusNow(Optional.empty())));
  }

  /**
   * Returns the status with {@code counters}: an event with the counters up to now. Scalars up to
   * now are published before.
   */
  Future<MemberStatus> statusAndCounters() {
    return onShardLoop(
        () -> {
          scalars.flush();
          return Future.succeededFuture(
              statusNow(shard.hasPartitions() ? Optional.of(progress()) : Optional.empty()));
        });
  }

  private void reportProgress() {
    if (shard.hasPartitions()) {
      report.accept(statusNow(Optional.empty()));
      events.accept(progress());
    }
  }

  private MemberStatus statusNow(Optional<ServerProgress> asked) {
    if (!shard.hasPartitions()) {
      return MemberStatus.NONE;
    }
    ShardCounters counters = shard.counters();
    return new ServerStatus(
        counters.version(),
        counters.samples(),
        shard.restored(),
        checkpoints.costMillis(),
        shard.heldUp(),
        asked);
  }

  private ServerProgress progress() {
    ShardCounters counters = shard.counters();
    return new ServerProgress(
        System.currentTimeMillis(),
        admission.rank(),
        admission.incarnation(),
        counters.version(),
        counters.samples(),
        counters.applied(),
        counters.late(),
        counters.duplicate(),
        counters.tooStale(),
        counters.refused());
  }

  /**
   * Returns the outcomes of all updates, by the rank that sent them. If checkpoints are written,
   * they are on the disk first, so that nobody repeats an update any more.
   */
  Future<List<RankUpdates>> updates() {
    return onShardLoop(() -> checkpoints.finish(shard, false).map(written -> shard.updates()));
  }

  /** Starts a checkpoint, unless one is being written; completes with the status. */
  Future<MemberStatus> checkpoint() {
    return onShardLoop(
        () -> {
          checkpoints.writeNow(shard);
          return Future.succeededFuture(statusNow(Optional.empty()));
        });
  }

  /**
   * Writes a checkpoint; completes once it is on the disk, with empty if there is nothing to write.
   */
  Future<Optional<Path>> save() {
    return onShardLoop(
        () ->
            shard.hasPartitions()
                ? checkpoints.save(shard).map(Optional::of)
                : Future.succeededFuture(Optional.empty()));
  }

  /** Returns the state of an abandoned shard, for the same server under its next incarnation. */
  Future<Checkpoint> snapshot() {
    return onShardLoop(() -> Future.succeededFuture(shard.snapshot()));
  }

  /** Ends every wait and every exchange; completes when the last checkpoint is on the disk. */
  Future<Void> close(String reason) {
    if (closed == null) {
      closed =
          end(reason)
              .transform(ended -> onShardLoop(() -> checkpoints.finish(shard, true)))
              .onComplete(finished -> finder.release(host));
    }
    return closed;
  }

  /** Ends service without a checkpoint, because another server may own the shard by now. */
  void abandon(String reason) {
    if (closed == null) {
      closed = end(reason).onComplete(ended -> finder.release(host));
    }
  }

  private Future<Void> end(String reason) {
    return onShardLoop(
        () -> {
          shard.close(reason);
          scalars.flush();
          checkpoints.finishWithoutPauses();
          return frames == null
              ? Future.succeededFuture()
              : frames.close(reason).eventually(sums::close);
        });
  }

  private void runOnShardLoop(Runnable action) {
    onShardLoop(
        () -> {
          action.run();
          return Future.succeededFuture();
        });
  }

  /** Runs an action on the shard's event loop; the future completes on the server's context. */
  private <T> Future<T> onShardLoop(Callable<Future<T>> action) {
    return ContextBridge.to(context, host.call(action));
  }

  /** The frame endpoint of a shard: ticks it and reports its progress twice a second. */
  static final class ShardEndpoint implements FrameEndpoint {

    private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Shard shard;
    private final LongSupplier pausableClock;
    private final Runnable reportProgress;
    private final Runnable ticked;
    private final Runnable updated;
    private final Supplier<Future<Void>> save;
    private final Promise<Void> lastSaved = Promise.promise();
    private boolean saving;
    private long reportedNanos;

    /**
     * Creates the endpoint of a shard.
     *
     * @param pausableClock the shard's clock
     * @param reportProgress called twice a second
     * @param ticked called after every tick
     * @param updated called after every gradient
     * @param save completes when the last version is on the disk, or need not be
     */
    ShardEndpoint(
        Shard shard,
        LongSupplier pausableClock,
        Runnable reportProgress,
        Runnable ticked,
        Runnable updated,
        Supplier<Future<Void>> save) {
      this.shard = shard;
      this.pausableClock = pausableClock;
      this.reportProgress = reportProgress;
      this.ticked = ticked;
      this.updated = updated;
      this.save = save;
    }

    @Override
    public Future<Frame> handle(Frame frame) {
      Future<Frame> answer = shard.handle(frame);
      if (shard.failure().isComplete()) {
        return answer;
      }
      if (frame instanceof GradientPartition) {
        updated.run();
      }
      saveLastVersion();
      return answer.compose(reply -> shard.isFinished() ? afterSave(reply) : completed(reply));
    }

    /** Does what follows a frame, after rounds that had waited for another shard. */
    void summed() {
      if (!shard.failure().isComplete()) {
        updated.run();
        saveLastVersion();
      }
    }

    /**
     * Saves the last version between two frames, so that the checkpoint counts all updates in it.
     */
    private void saveLastVersion() {
      if (!saving && shard.isFinished()) {
        saving = true;
        save.get().onComplete(lastSaved);
      }
    }

    /**
     * Holds answers to workers back until the last version is on the disk. A worker that has the
     * last version leaves, and nobody can repeat its steps any more. Until the version is on the
     * disk, a replacement of this server therefore finds all workers. Every worker needs an answer
     * after the last partition has closed, so no exchange window is blocked.
     */
    private Future<Frame> afterSave(Frame reply) {
      boolean toWorker = reply instanceof ParameterPartition answer && answer.id().worker() >= 0;
      return toWorker ? lastSaved.future().map(reply) : completed(reply);
    }

    private static Future<Frame> completed(Frame reply) {
      return Future.succeededFuture(reply);
    }

    @Override
    public void tick(long nowNanos) {
      shard.tick(pausableClock.getAsLong());
      if (shard.failure().isComplete()) {
        return;
      }
      if (nowNanos - reportedNanos >= PROGRESS_NANOS) {
        reportedNanos = nowNanos;
        reportProgress.run();
      }
      ticked.run();
      saveLastVersion();
    }

    @Override
    public void close(String reason) {
      shard.close(reason);
    }
  }
}
