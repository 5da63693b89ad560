package io.vertigrad.serving.internal;

import java.util.Locale;

/**
 * A request that gets no prediction. It has no stack trace, because it is no defect of the program.
 */
public final class Refusal extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** The reason of a refusal. */
  public enum Code {
    /** The request is wrong; repeating it is useless. */
    INVALID(400),
    /** The request has none of the server's tokens. */
    UNAUTHENTICATED(401),
    /** A page of another server asked, or the request's token may not do this. */
    FORBIDDEN(403),
    /** The requested model or version is not served. */
    UNKNOWN(404),
    /** The body, or what it decodes to, is larger than a limit. */
    TOO_LARGE(413),
    /** The body's type or encoding is not known here. */
    UNSUPPORTED(415),
    /** There are no parameters to answer with yet, or the predictor is being undeployed. */
    NOT_READY(425),
    /** The forward pass failed, or an output is not finite. */
    FAILED(500),
    /** The queue or the memory for requests is full; a later attempt may succeed. */
    OVERLOADED(503);

    private final int number;

    Code(int number) {
      this.number = number;
    }

    /** Returns the failure code of the event bus's reply. */
    public int number() {
      return number;
    }
  }

  /** Most characters of a message, whatever a data set's own message holds. */
  private static final int MOST_MESSAGE = 1_000;

  private final Code code;

  /** Creates a refusal; a long message is cut. */
  public Refusal(Code code, String message) {
    super(SampleFormat.cut(message, MOST_MESSAGE), null, false, false);
    this.code = code;
  }

  /** Returns a refusal of a wrong request. */
  public static Refusal invalid(String message, Object... values) {
    return new Refusal(Code.INVALID, String.format(Locale.ROOT, message, values));
  }

  /** Returns the reason. */
  public Code code() {
    return code;
  }
}
