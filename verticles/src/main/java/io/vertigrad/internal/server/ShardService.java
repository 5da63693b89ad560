package io.vertigrad.internal.server;

import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.transport.EndpointVerticle;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One shard in service under one admission, on the event loop of its server's verticle, so that
 * frames, memberships and the clock reach its state from one thread.
 */
final class ShardService {

  private final Admission admission;
  private final Shard shard;
  private final boolean owns;
  private final CheckpointSchedule checkpoints;
  private final EndpointVerticle strategy;
  private boolean informed;
  private Future<Void> closed;

  /**
   * Takes a shard into service.
   *
   * @param owns false when the shard has no partition, because there are more shards than cuts
   * @param endpoint what frames reach it through
   */
  ShardService(
      JobConfig job,
      Admission admission,
      Shard shard,
      boolean owns,
      ShardEndpoint endpoint,
      CheckpointSchedule checkpoints) {
    this.admission = admission;
    this.shard = shard;
    this.owns = owns;
    this.checkpoints = checkpoints;
    String address = job.addresses().shard(admission.rank(), admission.incarnation());
    strategy = new EndpointVerticle(address, endpoint);
  }

  /** Begins to take frames. */
  Future<ShardService> open(Context context) {
    checkpoints.start(shard);
    try {
      return strategy.deploy(context).map(this);
    } catch (Exception e) {
      return Future.failedFuture(e);
    }
  }

  /** Takes a proposed membership over, or says which version is in its way. */
  OptionalLong propose(Membership next) {
    if (informed) {
      return shard.propose(next);
    }
    // Nobody has closed a round under this incarnation, however far the checkpoint had come.
    membershipChanged(next);
    return OptionalLong.empty();
  }

  /** Lets no update follow this version until another is named. */
  void testAt(long version) {
    shard.testAt(version);
  }

  void membershipChanged(Membership now) {
    informed = true;
    shard.membershipChanged(now);
  }

  /**
   * For the coordinator: {@code version}, {@code samples}, {@code restored}, {@code waiting};
   * nothing without partitions.
   */
  JsonObject status() {
    return owns ? ShardEndpoint.status(shard) : new JsonObject();
  }

  /** The status, with {@code counters}: the event that tells them, up to now. */
  JsonObject statusAndCounters() {
    JsonObject counters =
        ShardEndpoint.event(admission.rank(), admission.incarnation(), shard.counters()).toJson();
    return owns ? status().put("counters", counters) : status();
  }

  /** Begins a checkpoint, unless one is being written; answers with the status. */
  JsonObject checkpoint() {
    checkpoints.now(shard);
    return status();
  }

  /** Writes a checkpoint; answers with its {@code file} once it is on the disk. */
  Future<JsonObject> save() {
    return owns
        ? checkpoints.save(shard).map(file -> new JsonObject().put("file", file.toString()))
        : Future.succeededFuture(new JsonObject());
  }

  /** Its state, for the same server under its next incarnation, if nobody was in between. */
  Optional<ShardSnapshot> inheritance(Admission next) {
    boolean successor =
        next.rank() == admission.rank() && next.incarnation() == admission.incarnation() + 1;
    return successor ? Optional.of(shard.snapshot()) : Optional.empty();
  }

  /** Ends every wait and every exchange; completes when the last checkpoint is on the disk. */
  Future<Void> close(Context context, String why) {
    if (closed == null) {
      closed = end(context, why).transform(ended -> checkpoints.finish(shard));
    }
    return closed;
  }

  /** Ends service without a checkpoint: another server may own the shard by now. */
  void abandon(Context context, String why) {
    if (closed == null) {
      closed = end(context, why);
    }
  }

  private Future<Void> end(Context context, String why) {
    shard.close(why);
    try {
      return strategy.undeploy(context).mapEmpty();
    } catch (Exception e) {
      return Future.failedFuture(e);
    }
  }
}
