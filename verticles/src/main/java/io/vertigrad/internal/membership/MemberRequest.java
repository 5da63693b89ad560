package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import java.util.Locale;

/** What the coordinator asks of one member. */
sealed interface MemberRequest {

  /** Asks a server whether it can take this membership over. */
  record Propose(Membership next) implements MemberRequest {}

  /** Asks the evaluator to test the newest parameters, of this version or a later one. */
  record Evaluate(long version) implements MemberRequest {}

  /** Has a server send this backup a copy of its shard, and then every change. */
  record Replicate(Admission backup) implements MemberRequest {}

  /** Has a backup take over its shard under this admission. */
  record Promote(Admission as) implements MemberRequest {}

  /** Commands without arguments. */
  enum Command implements MemberRequest {
    /** Asks a server for its counters, a worker whether it is in a step. */
    STATUS,
    /** Asks for a checkpoint, answered when it is on the disk. */
    SAVE,
    /** Asks for a checkpoint, answered when it was begun. */
    CHECKPOINT,
    /** Asks a server what became of every update. */
    LEDGER,
    /** Has a worker's process start another worker, for a rank that nobody plays. */
    ADOPT;

    String lower() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
