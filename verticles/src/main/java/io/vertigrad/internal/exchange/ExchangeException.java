package io.vertigrad.internal.exchange;

/** An exchange that cannot succeed. The message names the cause and what to do. */
public class ExchangeException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public ExchangeException(String message) {
    super(message);
  }

  public ExchangeException(String message, Throwable cause) {
    super(message, cause);
  }

  /** An exchange that got no answer before its deadline. */
  public static final class UnansweredException extends ExchangeException {

    private static final long serialVersionUID = 1L;

    public UnansweredException(String message) {
      super(message);
    }
  }
}
