package io.vertigrad.job;

/** A join that came to nothing: refused, or no coordinator found; the message is for the user. */
public final class JoinException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean worthRetrying;
  private final boolean late;

  /**
   * Creates a refusal that is final.
   *
   * @param message for the user: what was found, what was expected
   */
  public JoinException(String message) {
    this(message, false, false);
  }

  private JoinException(String message, boolean worthRetrying, boolean late) {
    super(message, null, false, false);
    this.worthRetrying = worthRetrying;
    this.late = late;
  }

  /**
   * Creates a refusal for want of a place, whose holder may be dead.
   *
   * @param message for the user
   * @return a refusal that is worth retrying
   */
  public static JoinException full(String message) {
    return new JoinException(message, true, false);
  }

  /**
   * Creates a refusal because the job has come to a good end, or is about to.
   *
   * @param message for the user
   * @return a refusal that is nobody's failure
   */
  public static JoinException late(String message) {
    return new JoinException(message, false, true);
  }

  /**
   * Tells whether the place may become free, because whoever holds it may be dead.
   *
   * @return true when another attempt makes sense
   */
  public boolean worthRetrying() {
    return worthRetrying;
  }

  /**
   * Tells whether nothing is left to do, and nothing has gone wrong.
   *
   * @return true when the job has ended well, or is about to
   */
  public boolean late() {
    return late;
  }
}
