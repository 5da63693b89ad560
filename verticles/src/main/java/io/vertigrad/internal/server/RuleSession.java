package io.vertigrad.internal.server;

import io.vertigrad.compute.Block;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.RecordJson.Form;
import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * The message with which a {@link RemoteStrategy} begins a session at its {@link RemoteShard}. The
 * components are its keys.
 *
 * @param rounds address where the shard takes the steps of rounds
 * @param layout hash of the parameter layout
 * @param incarnation incarnation of the server
 * @param ranks number of ranks that the job's work is divided among
 * @param lastVersion version at which the job ends
 * @param now the shard's clock in nanoseconds
 * @param partitions the partitions that have a rule
 */
record RuleSession(
    String rounds,
    long layout,
    int incarnation,
    int ranks,
    long lastVersion,
    long now,
    Membership membership,
    List<RulePartition> partitions) {

  private static final RecordJson JSON =
      RecordJson.strict(
          (part, key, value) -> false,
          ControlCodec.MEMBERSHIP,
          new Form<>(
              Block.Kind.class,
              String.class,
              "a kind of block",
              Block.Kind::name,
              Block.Kind::valueOf));

  /**
   * A partition, and the version that the shard has of it.
   *
   * @param restored true if the version comes from a checkpoint
   */
  record RulePartition(@Inline Partition partition, long version, boolean restored) {}

  JsonObject toJson() {
    return JSON.write(this);
  }

  static RuleSession read(JsonObject json) {
    return JSON.read(RuleSession.class, json, "session of a shard's rules");
  }
}
