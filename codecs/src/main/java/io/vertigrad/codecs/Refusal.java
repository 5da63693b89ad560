package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A refusal: the frame was understood and had no effect.
 *
 * @param id identity of the exchange that is refused
 * @param reason the reason, for the program
 * @param message the reason for a person: where, what was found, what was expected, what to do; cut
 *     at {@link FrameLimits#MAX_MESSAGE_BYTES}
 */
public record Refusal(ExchangeId id, Reason reason, String message) implements Frame {

  /** Cuts the message to the length that a frame may carry. */
  public Refusal {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(reason, "reason");
    message = LengthPrefixedText.cut(message, FrameLimits.MAX_MESSAGE_BYTES);
  }

  /** The reason for a refusal, and what the sender should do. */
  public enum Reason implements Coded {
    /** The rank is no member, or was admitted again since: join again. */
    STALE_INCARNATION(1),
    /** The frame's layout, partition or length differs from the server's: the models differ. */
    WRONG_LAYOUT(2),
    /** The gradient holds NaN or infinity, or exceeds the bound: it is counted, not applied. */
    NOT_FINITE(3),
    /** The deadline of a round passed; the message names the missing workers. */
    DEADLINE(4),
    /** The server is not ready or is stopping: retry until the exchange's deadline. */
    UNAVAILABLE(5),
    /** The sender violated the protocol, for example with a version from the future. */
    PROTOCOL(6);

    private final byte code;

    Reason(int code) {
      this.code = (byte) code;
    }

    /** Returns the code that is written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }
}
