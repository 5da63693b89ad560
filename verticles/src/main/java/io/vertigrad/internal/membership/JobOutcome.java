package io.vertigrad.internal.membership;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * How a job ended.
 *
 * @param state {@code FINISHED}, {@code FAILED} or {@code STOPPED}
 * @param version highest version of any partition
 * @param samples behind it
 * @param evaluation of the end, where an evaluator tested it
 * @param silent names of servers that did not tell their last counters
 * @param stopped why it ended before its last version, where it was meant to
 * @param failure why it came to no good end
 */
public record JobOutcome(
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
