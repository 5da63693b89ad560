package io.vertigrad.internal.exchange;

/** An exchange that got no answer before its deadline. */
public final class UnansweredException extends ExchangeException {

  private static final long serialVersionUID = 1L;

  public UnansweredException(String message) {
    super(message);
  }
}
