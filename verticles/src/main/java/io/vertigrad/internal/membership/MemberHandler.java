package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A member's handlers for what the coordinator sends; called on the member's own context. */
public interface MemberHandler {

  /** Called when a member has joined or left; epochs only grow. */
  void membershipChanged(Membership now);

  /**
   * Asks a server whether it can accept this membership, before any other member receives it.
   *
   * @return its answer; fails while the server is not ready
   */
  default Future<ProposalAnswer> onProposal(Membership next) {
    return Future.succeededFuture(ProposalAnswer.ACCEPTED);
  }

  /**
   * Called when the job is paused, paused at a later version or resumed, or when the version that
   * waits for a test changes. Called with {@link Pause#NONE} before another join.
   *
   * @return the version after the last step that this worker has started and will finish; 0 for
   *     none
   */
  default long onPause(Pause pause) {
    return 0;
  }

  /** Asks a server for its status with its counters. */
  default Future<MemberStatus> counters() {
    return Future.failedFuture("this member has no counters to tell");
  }

  /** Asks a server for the outcome of every update, by the rank that sent it. */
  default Future<List<RankUpdates>> updates() {
    return Future.failedFuture("this member counts no updates");
  }

  /** Asks a worker whether it is in a step. */
  default Future<StepState> stepState() {
    return Future.failedFuture("this member makes no steps");
  }

  /** Asks for a checkpoint; completes with its file, if any, once it is on the disk. */
  default Future<Optional<Path>> save() {
    return Future.failedFuture("this member has nothing to save");
  }

  /** Asks a server for a checkpoint; completes with its status once writing has started. */
  default Future<MemberStatus> checkpoint() {
    return Future.failedFuture("this member writes no checkpoints");
  }

  /**
   * Asks a member to save what only it holds and to leave between two steps. All workers are held
   * while a server, or a worker without servers, does so.
   *
   * @return completes before it leaves, with its last status; fails if it could not save, and stays
   */
  default Future<MemberStatus> handOver() {
    return Future.failedFuture("this member hands nothing over");
  }

  /** Makes a worker's process start another worker, for a rank without one. */
  default Future<Void> startSubstitute() {
    return Future.failedFuture("this member starts no workers");
  }

  /** Asks the evaluator to test the newest parameters on the whole test set. */
  default Future<EvaluationResult> evaluate() {
    return Future.failedFuture("this member tests nothing");
  }

  /**
   * Called when this member was evicted: the job refuses everything from its incarnation from now
   * on.
   */
  void onEvicted(String reason);

  /** Called when the job is over or has failed; the member releases everything. */
  void onStopped(String reason);
}
