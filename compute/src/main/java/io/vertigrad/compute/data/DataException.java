package io.vertigrad.compute.data;

/** A data file that is missing or wrong; the message names it and what is expected. */
public final class DataException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public DataException(String message) {
    super(message);
  }

  public DataException(String message, Throwable cause) {
    super(message, cause);
  }
}
