package io.vertigrad.internal.membership;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The outcome of a job.
 *
 * @param state {@code FINISHED}, {@code FAILED} or {@code STOPPED}
 * @param version highest version of any partition
 * @param samples number of training samples behind that version
 * @param evaluation of the final parameters, if an evaluator tested them
 * @param silent names of servers that did not report their last counters
 * @param stopped why it ended before its last version, for an early end that the job file asks for
 * @param failure why it did not end well
 */
record JobOutcome(
    JobPhase state,
    long version,
    long samples,
    Optional<EvaluationResult> evaluation,
    List<String> silent,
    Optional<EarlyEnd> stopped,
    Optional<String> failure) {

  public JobOutcome {
    Objects.requireNonNull(state, "state");
    silent = List.copyOf(silent);
  }
}
