package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;

/** What a member does when the coordinator speaks; called on the member's own context. */
public interface MemberHandler {

  /** Someone joined or left; epochs only grow. */
  void membershipChanged(Membership now);

  /**
   * Asks a server whether it can take over this membership, before anyone else hears of it.
   *
   * @return its answer; fails while it is not ready
   */
  default Future<ProposalAnswer> proposed(Membership next) {
    return Future.succeededFuture(ProposalAnswer.ACCEPTED);
  }

  /**
   * The job is paused, is paused at a later version, or goes on, or a version may be passed that
   * was tested; called with {@link Pause#NONE} before another join.
   *
   * @return the version to which the last step leads that this worker has begun and that it will
   *     finish; 0 for none
   */
  default long paused(Pause pause) {
    return 0;
  }

  /** A command to this member, such as {@code {"command": "evaluate"}}; answers with a result. */
  default Future<JsonObject> command(JsonObject command) {
    return Future.failedFuture("unknown command " + command.encode());
  }

  /**
   * This member was taken for dead: everything under the old incarnation is refused from now on.
   */
  void evicted(String why);

  /** The job is over, or failed; let go of everything. */
  void stopped(String why);
}
