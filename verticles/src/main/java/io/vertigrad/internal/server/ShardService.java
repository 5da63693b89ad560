package io.vertigrad.internal.server;

import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.ProposalAnswer.Held;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One shard in service under one admission, on the event loop of the strategy verticle beside it,
 * so that frames, memberships and the clock reach its state from one thread.
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
   * Takes a shard into service.
   *
   * @param context the server's
   * @param owns false when the shard has no partition, because there are more shards than cuts
   * @param endpoint what frames reach it through
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

  /** Begins to take frames. */
  Future<ShardService> open() {
    return open(Optional.empty());
  }

  /** Likewise, at its address that may be listened at already. */
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

  /** Takes a proposed membership over, or says which version is in its way. */
  Future<ProposalAnswer> propose(Membership next) {
    return beside(
        () -> {
          if (informed) {
            return Future.succeededFuture(holding(shard.propose(next)));
          }
          // Nobody has closed a round under this incarnation, however far the checkpoint had come.
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
   * Keeps a backup.
   *
   * @param backup what reaches it, made on the shard's event loop
   * @param lost told, on the server's context, why it failed; see {@link #detach}
   * @return completes when the backup has all that this shard has
   */
  Future<Void> attach(Supplier<ShardReplication.Link> backup, Consumer<String> lost) {
    return beside(
        () -> shard.attach(backup.get(), why -> context.runOnContext(go -> lost.accept(why))));
  }

  /** Goes on without a backup. */
  void detach() {
    beside(
        () -> {
          shard.detach();
          return Future.succeededFuture();
        });
  }

  /** Lets no update follow this version until another is named. */
  void testAt(long version) {
    beside(
        () -> {
          shard.testAt(version);
          return Future.succeededFuture();
        });
  }

  /** Has a checkpoint of this version written, where that is left to time. */
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
   * For the coordinator: {@code version}, {@code samples}, {@code restored}, {@code waiting};
   * nothing without partitions.
   */
  Future<MemberStatus> status() {
    return beside(() -> Future.succeededFuture(statusNow()));
  }

  private MemberStatus statusNow() {
    return owns
        ? ShardEndpoint.status(shard).withSaveMillis(checkpoints.lastMillis())
        : MemberStatus.NONE;
  }

  /** The status, with {@code counters}: the event that tells them, up to now. */
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
   * What became of every update, by the rank that sent it, once that is on the disk where
   * checkpoints are written: nobody repeats it any more.
   */
  Future<List<RankUpdates>> updates() {
    return beside(() -> checkpoints.finish(shard).map(written -> shard.updates()));
  }

  /** Begins a checkpoint, unless one is being written; answers with the status. */
  Future<MemberStatus> checkpoint() {
    return beside(
        () -> {
          checkpoints.now(shard);
          return Future.succeededFuture(statusNow());
        });
  }

  /** Writes a checkpoint, unless there is nothing to write; answers once it is on the disk. */
  Future<Optional<Path>> save() {
    return beside(
        () ->
            owns
                ? checkpoints.save(shard).map(Optional::of)
                : Future.succeededFuture(Optional.empty()));
  }

  /** Its state, for the same server under its next incarnation; of one that was abandoned. */
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

  /** Ends service without a checkpoint: another server may own the shard by now. */
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

  /** Does something where the shard's state belongs, and comes back. */
  private <T> Future<T> beside(Callable<Future<T>> action) {
    return ContextBridge.to(context, host.call(action));
  }
}
