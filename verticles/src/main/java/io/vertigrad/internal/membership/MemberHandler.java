package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

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

  /** Asks a server for its status with its counters. */
  default Future<MemberStatus> counters() {
    return Future.failedFuture("this member has no counters to tell");
  }

  /** Asks a server what became of every update, by the rank that sent it. */
  default Future<List<RankUpdates>> updates() {
    return Future.failedFuture("this member counts no updates");
  }

  /** Asks a worker whether it is in a step. */
  default Future<StepState> stepState() {
    return Future.failedFuture("this member makes no steps");
  }

  /** Asks for a checkpoint; answers with its file, if any, once it is on the disk. */
  default Future<Optional<Path>> save() {
    return Future.failedFuture("this member has nothing to save");
  }

  /** Asks a server for a checkpoint; answers with its status once it was begun. */
  default Future<MemberStatus> checkpoint() {
    return Future.failedFuture("this member writes no checkpoints");
  }

  /**
   * Has a server keep a backup.
   *
   * @param backup who it is
   * @return completes when the backup has all that the server has, and no answer shows more
   */
  default Future<Void> replicate(Admission backup) {
    return Future.failedFuture("this member has no backup");
  }

  /**
   * Has a backup take over its shard, because the server it copied is gone.
   *
   * @param as what it is from now on
   * @return completes when it serves
   */
  default Future<Void> promoted(Admission as) {
    return Future.failedFuture("this member is no backup");
  }

  /** Has a worker's process start another worker, for a rank that nobody plays. */
  default Future<Void> adopt() {
    return Future.failedFuture("this member starts no workers");
  }

  /** Asks the evaluator to test the newest parameters on the whole test set. */
  default Future<EvaluationResult> evaluate() {
    return Future.failedFuture("this member tests nothing");
  }

  /**
   * This member was taken for dead: everything under the old incarnation is refused from now on.
   */
  void evicted(String why);

  /** The job is over, or failed; let go of everything. */
  void stopped(String why);
}
