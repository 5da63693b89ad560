package io.vertigrad.verticles.coordinator;

/** A join that came to nothing: refused, or no coordinator found; the message is for the user. */
public final class JoinException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean worthRetrying;

  public JoinException(String message) {
    this(message, false);
  }

  JoinException(String message, boolean worthRetrying) {
    super(message, null, false, false);
    this.worthRetrying = worthRetrying;
  }

  /** True when the place may become free, because whoever holds it may be dead. */
  boolean worthRetrying() {
    return worthRetrying;
  }
}
