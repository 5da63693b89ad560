package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import java.util.Locale;
import java.util.Optional;

/** A request to the coordinator; {@link ControlCodec} reads and writes it. */
sealed interface ControlRequest
    permits JoinRequest,
        ControlRequest.Heartbeat,
        ControlRequest.Leave,
        ControlRequest.DropBackup,
        ControlRequest.JobCommand {

  /**
   * A member's heartbeat.
   *
   * @param from the member
   * @param epoch of the newest membership it knows
   * @param status the member's own report
   * @param vitals measurements of its process, if it sent any
   * @param pause its reply to pauses
   */
  record Heartbeat(
      @Inline Admission from,
      int epoch,
      @MayBeAbsent MemberStatus status,
      Optional<ProcessVitals> vitals,
      @MayBeAbsent PauseReply pause)
      implements ControlRequest {}

  /**
   * A member leaves.
   *
   * @param from the member
   * @param reason why it leaves
   * @param status its last report
   */
  record Leave(@Inline Admission from, LeaveReason reason, @MayBeAbsent MemberStatus status)
      implements ControlRequest {}

  /**
   * A server's backup does not accept changes; once granted, the server goes on without it.
   *
   * @param from the server
   * @param backup the backup, which is no member of the job from then on
   * @param why for people
   */
  record DropBackup(@Inline Admission from, Admission backup, String why)
      implements ControlRequest {}

  /** A command for the whole job, which any node on the bus may send. */
  enum JobCommand implements ControlRequest {
    /** Asks for the phase of the job. */
    STATE,
    /** Makes every server write a checkpoint. */
    CHECKPOINT,
    /** Lets no worker start another step. */
    PAUSE,
    /** Lets workers go on. */
    RESUME,
    /** Ends the job and releases its members. */
    STOP;

    String lower() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * A member's reply to pauses.
   *
   * @param number of the newest pause that it has received
   * @param begun version after the last step that it has started; 0 for none
   */
  @MayBeAbsent
  record PauseReply(long number, long begun) {

    /** The reply of a member that has received no pause and has started no step. */
    static final PauseReply NONE = new PauseReply(0, 0);
  }
}
