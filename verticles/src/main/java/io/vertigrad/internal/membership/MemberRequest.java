package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.strategy.Membership;
import java.util.Locale;

/** A request of the coordinator to one member. */
sealed interface MemberRequest {

  /** Asks a server whether it can accept this membership. */
  record Propose(@Key("propose") Membership next) implements MemberRequest {}

  /** Asks the evaluator to test the newest parameters, of this version or a later one. */
  record Evaluate(@MayBeAbsent long version) implements MemberRequest {}

  /** Makes a server send this backup a copy of its shard, and then every change. */
  record Replicate(@Key("replicate") Admission backup) implements MemberRequest {}

  /** Makes a backup take over its shard under this admission. */
  record Promote(@Key("promote") Admission as) implements MemberRequest {}

  /** Commands without arguments. */
  enum Command implements MemberRequest {
    /** Asks a server for its counters, or a worker whether it is in a step. */
    STATUS,
    /** Asks for a checkpoint; answered when it is on the disk. */
    SAVE,
    /** Asks for a checkpoint; answered when writing has started. */
    CHECKPOINT,
    /** Asks a server for the outcome of every update. */
    LEDGER,
    /** Makes a worker's process start another worker, for a rank without one. */
    ADOPT;

    String lower() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
