package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.strategy.Membership;
import java.util.Optional;

/** Where a training loop asks to take part in its job. */
@FunctionalInterface
public interface JoinRequester {

  /**
   * Joins under a new incarnation and waits until the job runs; blocks the loop's thread.
   *
   * @return what this worker is from now on; empty when it was told to stop meanwhile
   * @throws RuntimeException with a message for the user when refused
   */
  Optional<Membership.Member> join();

  /** Where the loop asks before each step; one that is always open, unless told otherwise. */
  default StepGate gate() {
    return new StepGate();
  }

  /** Is told of each epoch that the worker has been through. */
  default void epochTrained(EpochTrained epoch) {}

  /** Where the loop notes what it does. */
  default SpanRecorder track() {
    return SpanRecorder.OFF;
  }
}
