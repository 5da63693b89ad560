package io.vertigrad.compute.data;

/** A data file that is missing or wrong; the message names it and what is expected. */
public final class DataException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Data that cannot be read.
   *
   * @param message which file, what was found, what was expected
   */
  public DataException(String message) {
    super(message);
  }

  /**
   * Data that cannot be read for a reason that lies deeper.
   *
   * @param message which file, what was found, what was expected
   * @param cause the reason
   */
  public DataException(String message, Throwable cause) {
    super(message, cause);
  }
}
