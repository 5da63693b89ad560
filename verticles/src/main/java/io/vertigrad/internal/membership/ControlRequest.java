package io.vertigrad.internal.membership;

import java.util.Locale;
import java.util.Optional;

/** What somebody asks of the coordinator; {@link ControlCodec} reads and writes it. */
sealed interface ControlRequest
    permits JoinRequest,
        ControlRequest.Heartbeat,
        ControlRequest.Leave,
        ControlRequest.DropBackup,
        ControlRequest.JobCommand {

  /**
   * A member's sign of life.
   *
   * @param from the member
   * @param epoch of the newest membership it knows
   * @param status what it says about itself
   * @param vitals how its process is, where it told
   * @param pause what it says to pauses
   */
  record Heartbeat(
      Admission from,
      int epoch,
      MemberStatus status,
      Optional<ProcessVitals> vitals,
      PauseReply pause)
      implements ControlRequest {}

  /**
   * A member leaves.
   *
   * @param from the member
   * @param reason why it leaves
   * @param status what it said about itself last
   */
  record Leave(Admission from, LeaveReason reason, MemberStatus status) implements ControlRequest {}

  /**
   * A server's backup does not take what it is sent; granted, the server goes on without it.
   *
   * @param from the server
   * @param backup the backup, which is no part of the job from then on
   * @param why for people
   */
  record DropBackup(Admission from, Admission backup, String why) implements ControlRequest {}

  /** What anybody on the bus may ask of the whole job. */
  enum JobCommand implements ControlRequest {
    /** Tells how far the job is. */
    STATE,
    /** Has every server write a checkpoint. */
    CHECKPOINT,
    /** Lets no worker begin another step. */
    PAUSE,
    /** Lets workers go on. */
    RESUME,
    /** Lets every member go. */
    STOP;

    String lower() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * What a member says to pauses.
   *
   * @param number of the newest word that it has heard
   * @param begun version to which the last step leads that it has begun; 0 for none
   */
  record PauseReply(long number, long begun) {

    /** Has heard nothing and begun nothing. */
    static final PauseReply NONE = new PauseReply(0, 0);
  }
}
