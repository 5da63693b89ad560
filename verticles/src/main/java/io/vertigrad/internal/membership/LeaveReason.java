package io.vertigrad.internal.membership;

import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.internal.exchange.RuleException;
import io.vertigrad.job.JoinException;
import io.vertigrad.strategy.ExchangeException;
import java.util.Objects;

/**
 * The reason for which a member leaves its job. Only control messages and events carry its
 * {@linkplain #toString() text}.
 *
 * @param kind decides how the job goes on
 * @param detail for {@link Kind#FAILED} and {@link Kind#FAILS_JOB} what went wrong, for {@link
 *     Kind#LOST} how it was noticed; empty for the others
 */
public record LeaveReason(Kind kind, String detail) {

  /** A worker has taken its last step. */
  public static final LeaveReason FINISHED = new LeaveReason(Kind.FINISHED, "");

  /** The member was undeployed or told to stop. */
  public static final LeaveReason STOPPED = new LeaveReason(Kind.STOPPED, "");

  private static final String FAILED_PREFIX = "failed: ";

  /** The effect of the reason on the job. */
  public enum Kind {
    /** Its work is done. */
    FINISHED,
    /** It was stopped before its work was done, and may come back. */
    STOPPED,
    /** It cannot go on and is not expected back. */
    FAILED,
    /** It cannot go on, and neither can the job: a replacement would do the same. */
    FAILS_JOB,
    /** It fell silent or disappeared, and may come back. */
    LOST
  }

  public LeaveReason {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(detail, "detail");
  }

  /**
   * Returns the reason of a member that cannot go on.
   *
   * @param what went wrong, in words that do not repeat the member's name
   */
  public static LeaveReason failed(String what) {
    return new LeaveReason(Kind.FAILED, what);
  }

  /**
   * Returns the reason of a member that has failed. The job fails with it if a replacement would
   * fail in the same way ({@link ComponentException}).
   *
   * @param member its name, with which the failure's message may begin
   */
  public static LeaveReason of(String member, Throwable failure) {
    String message = String.valueOf(failure.getMessage());
    String self = member + ": ";
    boolean permanent =
        failure instanceof ExchangeException exchange && exchange.failsJob()
            || failure instanceof SettingsException
            || failure instanceof ComponentException component && component.isPermanent()
            || failure instanceof DataException data && data.isPermanent();
    return new LeaveReason(
        permanent ? Kind.FAILS_JOB : Kind.FAILED,
        message.startsWith(self) ? message.substring(self.length()) : message);
  }

  /** Returns the error whose stack trace helps; null if the failure's message says everything. */
  public static Throwable traced(Throwable failure) {
    if (failure instanceof RuleException || failure instanceof ComponentException) {
      return failure.getCause();
    }
    boolean explained =
        failure instanceof DataException
            || failure instanceof JoinException
            || failure instanceof SettingsException
            || failure instanceof ExchangeException;
    return explained ? null : failure;
  }

  /**
   * Returns the reason of a member that disappeared without leaving.
   *
   * @param how it was noticed, for example that it was silent for 10 s
   */
  public static LeaveReason lost(String how) {
    return new LeaveReason(Kind.LOST, how);
  }

  /** Reads what {@link #toString()} has written; any other text is the detail of a lost member. */
  static LeaveReason read(String text) {
    if (text.equals(FINISHED.toString())) {
      return FINISHED;
    }
    if (text.equals(STOPPED.toString())) {
      return STOPPED;
    }
    if (text.startsWith(MemberLeft.FAILS_JOB)) {
      return new LeaveReason(Kind.FAILS_JOB, text.substring(MemberLeft.FAILS_JOB.length()));
    }
    return text.startsWith(FAILED_PREFIX)
        ? failed(text.substring(FAILED_PREFIX.length()))
        : lost(text);
  }

  /**
   * Returns the text for control messages and events, as {@code docs/reference/control-protocol.md}
   * lists it.
   */
  @Override
  public String toString() {
    return switch (kind) {
      case FINISHED -> MemberLeft.FINISHED;
      case STOPPED -> MemberLeft.STOPPED;
      case FAILED -> FAILED_PREFIX + detail;
      case FAILS_JOB -> MemberLeft.FAILS_JOB + detail;
      case LOST -> detail;
    };
  }
}
