package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.strategy.Membership;
import java.util.List;
import java.util.Optional;

/** What a coordinator's state wants done; it knows no bus and does nothing itself. */
sealed interface Decision {

  /** Tell the world. */
  record Announce(TrainingEvent event) implements Decision {}

  /** Ask one server whether it can take this membership over; bring its answer back. */
  record Propose(Membership next, Admission server) implements Decision {}

  /** All servers know it: tell every member. */
  record Publish(Membership membership) implements Decision {}

  /**
   * The last worker has finished: fetch the servers' counters and have the end evaluated, then call
   * {@link CoordinatorState#concluded}.
   */
  record Conclude(List<Admission> servers, Optional<Admission> evaluator, long version)
      implements Decision {}

  /** Tell every member that workers are held back, further than before, or not any more. */
  record Hold(Pause pause) implements Decision {}

  /** Have each of these servers write a checkpoint now. */
  record Save(List<Admission> servers) implements Decision {}

  /** Have this worker's process start another worker, for a rank that nobody plays. */
  record Adopt(Admission carrier, int rank) implements Decision {}

  /** Have this server send this backup a copy and every change; bring its answer back. */
  record Replicate(Admission primary, Admission backup) implements Decision {}

  /** Have this backup take over the shard of a server that is gone. */
  record Promote(Admission backup, Admission as) implements Decision {}

  /** Nobody in this process was heard of for long after its members were evicted. */
  record Hung(String node) implements Decision {}

  /** The job ended, one way or the other; members are still there. */
  record Complete(JobOutcome outcome) implements Decision {}

  /** Let every member go. */
  record Stop(String reason) implements Decision {}
}
