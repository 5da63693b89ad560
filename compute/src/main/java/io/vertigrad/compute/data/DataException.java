package io.vertigrad.compute.data;

/**
 * Thrown when a data file is missing or wrong; the message names the file and says what was
 * expected.
 */
public final class DataException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception without a cause.
   *
   * @param message which file, what was found, what was expected
   */
  public DataException(String message) {
    super(message);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message which file, what was found, what was expected
   * @param cause the reason
   */
  public DataException(String message, Throwable cause) {
    super(message, cause);
  }
}
