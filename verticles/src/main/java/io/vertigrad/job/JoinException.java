package io.vertigrad.job;

/** A join that failed: refused, or no coordinator was found. The message is for the user. */
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
   * Creates a refusal because of the node's secret, certificate or job file, or because there is no
   * place for it.
   *
   * @param message for the user
   * @return a refusal that the user has to resolve
   */
  public static JoinException refused(String message) {
    return new JoinException(message, false, false, true);
  }

  /**
   * Creates a refusal because all places are taken, although the holder of one may be dead.
   *
   * @param message for the user
   * @return a refusal that is worth retrying
   */
  public static JoinException full(String message) {
    return new JoinException(message, true, false, false);
  }

  /**
   * Creates a refusal because the job has ended successfully, or is about to.
   *
   * @param message for the user
   * @return a refusal that is not a failure
   */
  public static JoinException late(String message) {
    return new JoinException(message, false, true, false);
  }

  /**
   * Returns whether the place may become free, because its holder may be dead.
   *
   * @return true if another attempt makes sense
   */
  public boolean worthRetrying() {
    return worthRetrying;
  }

  /**
   * Returns whether the job refused the node's secret, certificate or job file, or has no place for
   * it.
   *
   * @return true if starting the node again changes nothing
   */
  public boolean refused() {
    return refused;
  }

  /**
   * Returns whether nothing is left to do and nothing has failed.
   *
   * @return true if the job has ended successfully, or is about to
   */
  public boolean late() {
    return late;
  }
}
