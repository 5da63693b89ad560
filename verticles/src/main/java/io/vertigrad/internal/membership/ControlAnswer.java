package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.OptionalLong;

/** An answer of the coordinator to a {@link ControlRequest}. */
sealed interface ControlAnswer {

  /**
   * The request was refused.
   *
   * @param why for people
   * @param retry true when a place may become free
   * @param late true when the job has ended well, or is about to
   */
  record Refused(@Key("refused") String why, boolean retry, boolean late)
      implements ControlAnswer {}

  /**
   * A newcomer was admitted.
   *
   * @param run name of the run, whose checkpoints the newcomer uses
   * @param keeps true for a server that continues from its memory, because nobody has served its
   *     shard since
   * @param from version that a server goes back to, because all servers do; empty for its newest
   */
  record Admitted(
      JobPhase state,
      int epoch,
      @Key("admitted") Admission admission,
      String run,
      boolean keeps,
      OptionalLong from)
      implements ControlAnswer {}

  /**
   * The request was granted.
   *
   * @param state phase of the job
   * @param epoch of the membership in force
   * @param membership present when the member knows an older one
   * @param pause present when the member knows an older one
   */
  record Granted(JobPhase state, int epoch, Optional<Membership> membership, Optional<Pause> pause)
      implements ControlAnswer {}

  /** The sender is not, or no longer, a member of the job. */
  record Unknown(JobPhase state, int epoch, @Key("unknown") String why) implements ControlAnswer {}

  /** The job is over, and the sender must stop. */
  record Released(JobPhase state, int epoch, @Key("stop") String why) implements ControlAnswer {}
}
