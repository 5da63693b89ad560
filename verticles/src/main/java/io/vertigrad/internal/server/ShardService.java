package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.ProposalAnswer.Held;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.internal.server.Shard.ShardCounters;
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
  private final boolean owns;
  private final ShardEndpoint endpoint;
  private final CheckpointSchedule checkpoints;
  private final StrategyHost host;
  private StrategyHost.Service frames;
  private boolean informed;
  private Future<Void> closed;

  /**
   * Creates the service of a shard.
   *
   * @param context the server's context
   * @param owns false when the shard has no partition, because there are more shards than
   *     partitions
   * @param endpoint takes the frames
   * @param host the strategy verticle beside it
   */
  ShardService(
      Context context,
      JobConfig job,
      Admission admission,
      Shard shard,
      boolean owns,
      ShardEndpoint endpoint,
      CheckpointSchedule checkpoints,
      StrategyHost host) {
    this.context = context;
    this.job = job;
    this.admission = admission;
    this.shard = shard;
    this.owns = owns;
    this.endpoint = endpoint;
    this.checkpoints = checkpoints;
    this.host = host;
  }

  /** Starts to take frames. */
  Future<ShardService> open() {
    return open(Optional.empty());
  }

  /** Starts to take frames, at a reserved address if there is one. */
  Future<ShardService> open(Optional<StrategyHost.Reservation> reserved) {
    String address = job.addresses().shard(admission.rank(), admission.incarnation());
    return beside(
            () -> {
              checkpoints.start(shard);
              return reserved
                  .map(here -> host.serve(here, endpoint))
                  .orElseGet(() -> host.serve(address, endpoint));
            })
        .map(
            serving -> {
              frames = serving;
              return this;
            });
  }

  /** Accepts a proposed membership, or returns the version that forbids it. */
  Future<ProposalAnswer> propose(Membership next) {
    return beside(
        () -> {
          if (informed) {
            return Future.succeededFuture(holding(shard.propose(next)));
          }
          // This incarnation has closed no round yet, whatever version its checkpoint has.
          informed = true;
          return Future.succeededFuture(holding(shard.takeProposed(next)));
        });
  }

  private ProposalAnswer holding(ProposalAnswer answer) {
    return owns && shard.movesInRounds()
        ? answer.with(new Held(shard.version(), shard.highestVersion(), checkpoints.kept()))
        : answer;
  }

  /**
   * Starts to keep a backup.
   *
   * @param backup creates the link to it; called on the shard's event loop
   * @param lost receives, on the server's context, why it failed; see {@link #detach}
   * @return completes when the backup has everything that this shard has
   */
  Future<Void> attach(Supplier<ShardReplication.Link> backup, Consumer<String> lost) {
    return beside(
        () -> shard.attach(backup.get(), why -> context.runOnContext(go -> lost.accept(why))));
  }

  /** Continues without a backup. */
  void detach() {
    beside(
        () -> {
          shard.detach();
          return Future.succeededFuture();
        });
  }

  /** Lets no update follow this version until another one is set. */
  void testAt(long version) {
    beside(
        () -> {
          shard.testAt(version);
          return Future.succeededFuture();
        });
  }

  /** Sets the version of the next timed checkpoint. */
  void saveAt(long version) {
    beside(
        () -> {
          checkpoints.saveAt(shard, version);
          return Future.succeededFuture();
        });
  }

  void membershipChanged(Membership now) {
    beside(
        () -> {
          inform(now);
          return Future.succeededFuture();
        });
  }

  private void inform(Membership now) {
    informed = true;
    shard.membershipChanged(now);
  }

  /**
   * Returns the status for the coordinator: {@code version}, {@code samples}, {@code restored},
   * {@code waiting}; empty without partitions.
   */
  Future<MemberStatus> status() {
    return beside(() -> Future.succeededFuture(statusNow()));
  }

  private MemberStatus statusNow() {
    return owns
        ? ShardEndpoint.status(shard).withSaveMillis(checkpoints.lastMillis())
        : MemberStatus.NONE;
  }

  /** Returns the status with {@code counters}: an event with the counters up to now. */
  Future<MemberStatus> statusAndCounters() {
    return beside(
        () -> {
          ServerProgress counters =
              ShardEndpoint.event(admission.rank(), admission.incarnation(), shard.counters());
          MemberStatus status = statusNow();
          return Future.succeededFuture(owns ? status.withCounters(counters) : status);
        });
  }

  /**
   * Returns the outcomes of all updates, by the rank that sent them. If checkpoints are written,
   * they are on the disk first, so that nobody repeats an update any more.
   */
  Future<List<RankUpdates>> updates() {
    return beside(() -> checkpoints.finish(shard).map(written -> shard.updates()));
  }

  /** Starts a checkpoint, unless one is being written; completes with the status. */
  Future<MemberStatus> checkpoint() {
    return beside(
        () -> {
          checkpoints.now(shard);
          return Future.succeededFuture(statusNow());
        });
  }

  /**
   * Writes a checkpoint; completes once it is on the disk, with empty if there is nothing to write.
   */
  Future<Optional<Path>> save() {
    return beside(
        () ->
            owns
                ? checkpoints.save(shard).map(Optional::of)
                : Future.succeededFuture(Optional.empty()));
  }

  /** Returns the state of an abandoned shard, for the same server under its next incarnation. */
  Future<ShardSnapshot> inheritance() {
    return beside(() -> Future.succeededFuture(shard.snapshot()));
  }

  /** Ends every wait and every exchange; completes when the last checkpoint is on the disk. */
  Future<Void> close(String why) {
    if (closed == null) {
      closed =
          end(why)
              .transform(ended -> beside(() -> checkpoints.finish(shard)))
              .onComplete(finished -> host.release());
    }
    return closed;
  }

  /** Ends service without a checkpoint, because another server may own the shard by now. */
  void abandon(String why) {
    if (closed == null) {
      closed = end(why).onComplete(ended -> host.release());
    }
  }

  private Future<Void> end(String why) {
    return beside(
        () -> {
          shard.close(why);
          checkpoints.hurry();
          return frames == null ? Future.succeededFuture() : frames.close(why);
        });
  }

  /** Runs an action on the shard's event loop; the future completes on the server's context. */
  private <T> Future<T> beside(Callable<Future<T>> action) {
    return ContextBridge.to(context, host.call(action));
  }

  /** The frame endpoint of a shard: ticks it and reports its progress twice a second. */
  static final class ShardEndpoint implements FrameEndpoint {

    private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Shard shard;
    private final LongSupplier patience;
    private final Consumer<ShardCounters> progress;
    private final Runnable ticked;
    private final Runnable updated;
    private final Supplier<Future<Void>> saved;
    private final Promise<Void> lastSaved = Promise.promise();
    private boolean saving;
    private long toldNanos;

    /**
     * Creates the endpoint of a shard.
     *
     * @param patience the shard's clock
     * @param progress receives the counters twice a second
     * @param ticked called after every tick
     * @param updated called after every gradient
     * @param saved completes when the last version is on the disk, or need not be
     */
    ShardEndpoint(
        Shard shard,
        LongSupplier patience,
        Consumer<ShardCounters> progress,
        Runnable ticked,
        Runnable updated,
        Supplier<Future<Void>> saved) {
      this.shard = shard;
      this.patience = patience;
      this.progress = progress;
      this.ticked = ticked;
      this.updated = updated;
      this.saved = saved;
    }

    @Override
    public Future<Frame> handle(Frame frame) {
      Future<Frame> answer = shard.handle(frame);
      if (frame instanceof GradientPartition) {
        updated.run();
      }
      saveLast();
      return answer.compose(reply -> shard.isFinished() ? onceSaved(reply) : done(reply));
    }

    /** Saves the last version between two frames, so that the checkpoint counts all updates in it. */
    private void saveLast() {
      if (!saving && shard.isFinished()) {
        saving = true;
        saved.get().onComplete(lastSaved);
      }
    }

    /**
     * Holds answers to workers back until the last version is on the disk. A worker that has the last
     * version leaves, and nobody can repeat its steps any more. Until the version is on the disk, a
     * replacement of this server therefore finds all workers. Every worker needs an answer after the
     * last partition has closed, so no exchange window is blocked.
     */
    private Future<Frame> onceSaved(Frame reply) {
      boolean toWorker = reply instanceof ParameterPartition answer && answer.id().worker() >= 0;
      return toWorker ? lastSaved.future().map(reply) : done(reply);
    }

    private static Future<Frame> done(Frame reply) {
      return Future.succeededFuture(reply);
    }

    @Override
    public void tick(long nowNanos) {
      shard.tick(patience.getAsLong());
      if (nowNanos - toldNanos >= PROGRESS_NANOS) {
        toldNanos = nowNanos;
        progress.accept(shard.counters());
      }
      ticked.run();
      saveLast();
    }

    @Override
    public void close(String why) {
      shard.close(why);
    }

    /**
     * Returns the status for the coordinator: version, samples, stragglers, and whether it was
     * restored.
     */
    static MemberStatus status(Shard shard) {
      ShardCounters counters = shard.counters();
      return MemberStatus.ofServer(
          counters.version(), counters.samples(), shard.restored(), shard.heldUp());
    }

    /** Returns the event with these counters. */
    static ServerProgress event(int shard, int incarnation, ShardCounters counters) {
      return new ServerProgress(
          System.currentTimeMillis(),
          shard,
          incarnation,
          counters.version(),
          counters.samples(),
          counters.applied(),
          counters.late(),
          counters.duplicate(),
          counters.tooStale(),
          counters.refused());
    }
  }
}
