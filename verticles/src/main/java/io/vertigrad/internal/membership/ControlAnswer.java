package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.OptionalLong;

/** What the coordinator answers to a {@link ControlRequest}. */
sealed interface ControlAnswer {

  /**
   * The request was not granted.
   *
   * @param why for people
   * @param retry true when a place may become free
   * @param late true when the job has come to a good end
   */
  record Refused(String why, boolean retry, boolean late) implements ControlAnswer {}

  /**
   * A newcomer takes part from now on.
   *
   * @param run name of the run, whose checkpoints are the newcomer's
   * @param keeps true for a server that goes on from what it holds in memory: nobody has served its
   *     shard since
   * @param from version that a server goes back to, because all of them do; empty for its newest
   */
  record Admitted(
      JobPhase state, int epoch, Admission admission, String run, boolean keeps, OptionalLong from)
      implements ControlAnswer {}

  /**
   * The request was granted.
   *
   * @param state how far the job is
   * @param epoch of the membership that is in force
   * @param membership for a member that knows an older one
   * @param pause for a member that has heard an older word
   */
  record Granted(JobPhase state, int epoch, Optional<Membership> membership, Optional<Pause> pause)
      implements ControlAnswer {}

  /** Whoever asks is not, or no longer, part of the job. */
  record Unknown(JobPhase state, int epoch, String why) implements ControlAnswer {}

  /** The job is over, and whoever asks is to let go. */
  record Released(JobPhase state, int epoch, String why) implements ControlAnswer {}
}
