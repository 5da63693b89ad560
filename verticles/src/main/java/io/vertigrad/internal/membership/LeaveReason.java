package io.vertigrad.internal.membership;

import java.util.Objects;

/**
 * Why a member leaves its job. Within the runtime it is this record; only control messages and
 * events carry its {@linkplain #toString() text}.
 *
 * @param kind what decides how the job goes on
 * @param detail for {@link Kind#FAILED} what went wrong, for {@link Kind#LOST} how it was noticed;
 *     empty for the others
 */
public record LeaveReason(Kind kind, String detail) {

  /** A worker has taken its last step. */
  public static final LeaveReason FINISHED = new LeaveReason(Kind.FINISHED, "");

  /** The member was undeployed or told to stop. */
  public static final LeaveReason STOPPED = new LeaveReason(Kind.STOPPED, "");

  private static final String FAILED_PREFIX = "failed: ";

  /** What the reason means for the job. */
  public enum Kind {
    /** Its work is done. */
    FINISHED,
    /** It ended in good order before its work was done, and may come back. */
    STOPPED,
    /** It cannot go on, and nobody expects it back. */
    FAILED,
    /** It fell silent or went without a word, and may come back. */
    LOST
  }

  public LeaveReason {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(detail, "detail");
  }

  /**
   * The reason of a member that cannot go on.
   *
   * @param what went wrong, in words that do not repeat the member's name
   */
  public static LeaveReason failed(String what) {
    return new LeaveReason(Kind.FAILED, what);
  }

  /**
   * The reason of a member that is gone without having said so.
   *
   * @param how it was noticed, for example that it was silent for 10 s
   */
  public static LeaveReason lost(String how) {
    return new LeaveReason(Kind.LOST, how);
  }

  /** Reads what {@link #toString()} has written; any other text is how a member was lost. */
  static LeaveReason read(String text) {
    if (text.equals(FINISHED.toString())) {
      return FINISHED;
    }
    if (text.equals(STOPPED.toString())) {
      return STOPPED;
    }
    return text.startsWith(FAILED_PREFIX)
        ? failed(text.substring(FAILED_PREFIX.length()))
        : lost(text);
  }

  /** The text in control messages and events, as {@code docs/reference/control-protocol.md} lists it. */
  @Override
  public String toString() {
    return switch (kind) {
      case FINISHED -> "finished";
      case STOPPED -> "stopped";
      case FAILED -> FAILED_PREFIX + detail;
      case LOST -> detail;
    };
  }
}
