package io.vertigrad.job;

/** A join that came to nothing: refused, or no coordinator found; the message is for the user. */
public final class JoinException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean worthRetrying;
  private final boolean late;

  /**
   * A refusal that trying again does not change.
   *
   * @param message for a person, in one line
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
   * Whoever holds the place may be dead.
   *
   * @param message for a person, in one line
   * @return a refusal after which trying again is worth it
   */
  public static JoinException full(String message) {
    return new JoinException(message, true, false);
  }

  /**
   * The job has come to a good end, or is about to.
   *
   * @param message for a person, in one line
   * @return a refusal that is no error
   */
  public static JoinException late(String message) {
    return new JoinException(message, false, true);
  }

  /**
   * True when the place may become free, because whoever holds it may be dead.
   *
   * @return true when the same request may be admitted later
   */
  public boolean worthRetrying() {
    return worthRetrying;
  }

  /**
   * True when nothing is left to do, and nothing has gone wrong.
   *
   * @return true when the job was over
   */
  public boolean late() {
    return late;
  }
}
