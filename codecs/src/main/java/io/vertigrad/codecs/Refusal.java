package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A clear no: the frame was understood and not acted upon.
 *
 * @param id identity of the exchange that is refused
 * @param reason what kind of no, for the program
 * @param message where, what was found, what was expected, what to do, for the person; cut at
 *     {@link FrameLimits#MAX_MESSAGE_BYTES}
 */
public record Refusal(ExchangeId id, Reason reason, String message) implements Frame {

  /** Cuts a message to what a frame may carry. */
  public Refusal {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(reason, "reason");
    message = LengthPrefixedText.cut(message, FrameLimits.MAX_MESSAGE_BYTES);
  }

  /** Why a frame was refused, and what its sender should do. */
  public enum Reason implements Coded {
    /** The rank is not a member, or has been readmitted since: join again. */
    STALE_INCARNATION(1),
    /** The frame's layout, partition or length is not the server's: a different model. */
    WRONG_LAYOUT(2),
    /** The gradient holds NaN or infinity, or is larger than the bound: counted, not applied. */
    NOT_FINITE(3),
    /** A round's deadline passed; the message names who was missing. */
    DEADLINE(4),
    /** The server is not ready or is stopping: try again until the exchange's deadline. */
    UNAVAILABLE(5),
    /** The sender spoke out of turn, for example a version from the future. */
    PROTOCOL(6);

    private final byte code;

    Reason(int code) {
      this.code = (byte) code;
    }

    /** The code written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }
}
