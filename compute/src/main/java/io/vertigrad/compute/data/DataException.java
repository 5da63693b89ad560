package io.vertigrad.compute.data;

/**
 * Thrown when a data file is missing or wrong; the message names the file and says what was
 * expected.
 */
public final class DataException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final boolean permanent;

  /**
   * Creates an exception without a cause.
   *
   * @param message which file, what was found, what was expected
   */
  public DataException(String message) {
    this(message, null);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message which file, what was found, what was expected
   * @param cause the reason
   */
  public DataException(String message, Throwable cause) {
    this(message, cause, false);
  }

  private DataException(String message, Throwable cause, boolean permanent) {
    super(message, cause);
    this.permanent = permanent;
  }

  /**
   * Creates an exception about samples that are wrong: whoever reads them again finds the same. A
   * worker that fails with it during the training ends the job; no other takes its place.
   *
   * @param message which sample, what was found, what was expected
   * @return the exception
   */
  public static DataException permanent(String message) {
    return new DataException(message, null, true);
  }

  /**
   * Returns whether another attempt would fail in the same way, on any machine.
   *
   * @return false if files or brokers may be there by then
   */
  public boolean isPermanent() {
    return permanent;
  }
}
