package io.vertigrad.internal.checkpoint;

import java.util.List;

/**
 * The states of one member at one moment. Those of a shard are copied one by one while training
 * continues.
 *
 * @param job hash of the job's name
 * @param rank rank of the member: the shard, or the worker
 * @param incarnation incarnation of the member; a restarted one of the same run has a higher one
 * @param layout hash of the parameter layout
 * @param states one for each partition of a shard, by index; of other members one
 */
public record Checkpoint(
    long job, int rank, int incarnation, long layout, List<SavedState> states) {

  public Checkpoint {
    states = List.copyOf(states);
  }

  /** Returns the version that every state has reached; 0 without states. */
  public long version() {
    return states.stream().mapToLong(SavedState::version).min().orElse(0);
  }

  /**
   * Copies the remaining states at once, so that the member's own thread does not have to.
   *
   * @return bytes of all parts
   */
  long make() {
    return states.stream().mapToLong(SavedState::makeAndMeasure).sum();
  }

  /** Releases all memory. Remaining states are not copied any more. Repeated calls do nothing. */
  public void release() {
    states.forEach(SavedState::release);
  }
}
