package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.strategy.Membership;
import java.util.List;
import java.util.Optional;

/** An action that the coordinator's state asks for; the state itself does no I/O. */
sealed interface Decision {

  /** Publish this event. */
  record Announce(TrainingEvent event) implements Decision {}

  /** Ask one server whether it can accept this membership, and return its answer. */
  record Propose(Membership next, Admission server) implements Decision {}

  /** All servers have accepted this membership: publish it to every member. */
  record Publish(Membership membership) implements Decision {}

  /**
   * The last worker has finished: fetch the servers' counters, have the final version evaluated,
   * then call {@link CoordinatorState#concluded}.
   */
  record Conclude(List<Admission> servers, Optional<Admission> evaluator, long version)
      implements Decision {}

  /** Publish to every member how far training may go. */
  record Hold(Pause pause) implements Decision {}

  /** Make each of these servers write a checkpoint now. */
  record Save(List<Admission> servers) implements Decision {}

  /**
   * Keep these divisions of rounds for a later coordinator of the run, then call {@link
   * CoordinatorState#divisionsRecorded}.
   */
  record RecordDivisions(List<BatchDivision> all) implements Decision {}

  /** Make this worker's process start another worker, for a rank without one. */
  record Adopt(Admission carrier, int rank) implements Decision {}

  /**
   * Have this member save its part and leave the job; a successor takes its place.
   *
   * @param rests true if all workers must have come to rest before
   */
  record HandOver(Admission member, boolean rests) implements Decision {}

  /** A member of this process was asked to leave: start a process that takes its place. */
  record Succeed(String node) implements Decision {}

  /** This process has been silent for long after its members were evicted. */
  record Hung(String node) implements Decision {}

  /** The job has ended, well or not; its members are still there. */
  record Complete(JobOutcome outcome) implements Decision {}

  /** Release every member. */
  record Stop(String reason) implements Decision {}
}
