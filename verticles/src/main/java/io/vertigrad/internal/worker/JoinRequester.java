package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.strategy.Membership;
import java.util.Optional;

/** Lets a training loop join its job and report to it. */
@FunctionalInterface
public interface JoinRequester {

  /**
   * Joins as a new incarnation and waits until the job runs. Blocks the loop's thread.
   *
   * @return the worker's new rank and incarnation; empty if the worker was told to stop
   * @throws RuntimeException with a message for the user if the job refuses the worker
   */
  Optional<Membership.Member> join();

  /** Returns the gate that the loop asks before each step. The default gate is always open. */
  default StepGate gate() {
    return new StepGate();
  }

  /** Receives the statistics of each epoch that the worker has trained. */
  default void epochTrained(EpochTrained epoch) {}

  /** Returns the recorder for the loop's timeline. */
  default SpanRecorder track() {
    return SpanRecorder.OFF;
  }
}
