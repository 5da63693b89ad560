package io.vertigrad.job;

/** A join that came to nothing: refused, or no coordinator found; the message is for the user. */
public final class JoinException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean worthRetrying;
  private final boolean late;
  private final boolean refused;

  /**
   * Creates a refusal that is final.
   *
   * @param message for the user: what was found, what was expected
   */
  public JoinException(String message) {
    this(message, false, false, false);
  }

  private JoinException(String message, boolean worthRetrying, boolean late, boolean refused) {
    super(message, null, false, false);
    this.worthRetrying = worthRetrying;
    this.late = late;
    this.refused = refused;
  }

  /**
   * Creates a refusal for what a node brings along: its secret, certificate or job file, or because
   * there is no place for it.
   *
   * @param message for the user
   * @return a refusal that somebody has to do something about
   */
  public static JoinException refused(String message) {
    return new JoinException(message, false, false, true);
  }

  /**
   * Creates a refusal for want of a place, whose holder may be dead.
   *
   * @param message for the user
   * @return a refusal that is worth retrying
   */
  public static JoinException full(String message) {
    return new JoinException(message, true, false, false);
  }

  /**
   * Creates a refusal because the job has come to a good end, or is about to.
   *
   * @param message for the user
   * @return a refusal that is nobody's failure
   */
  public static JoinException late(String message) {
    return new JoinException(message, false, true, false);
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
   * Tells whether the job refused a node for what it brings along.
   *
   * @return true when starting it again changes nothing
   */
  public boolean refused() {
    return refused;
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
