package io.vertigrad.job;

/** A join that came to nothing: refused, or no coordinator found; the message is for the user. */
public final class JoinException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean worthRetrying;
  private final boolean late;

  public JoinException(String message) {
    this(message, false, false);
  }

  private JoinException(String message, boolean worthRetrying, boolean late) {
    super(message, null, false, false);
    this.worthRetrying = worthRetrying;
    this.late = late;
  }

  /** Whoever holds the place may be dead. */
  public static JoinException full(String message) {
    return new JoinException(message, true, false);
  }

  /** The job has come to a good end, or is about to. */
  public static JoinException late(String message) {
    return new JoinException(message, false, true);
  }

  /** True when the place may become free, because whoever holds it may be dead. */
  public boolean worthRetrying() {
    return worthRetrying;
  }

  /** True when nothing is left to do, and nothing has gone wrong. */
  public boolean late() {
    return late;
  }
}
