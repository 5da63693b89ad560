package io.vertigrad.launcher.job;

/** Reports that the user's input is wrong; the one-line message says what to do. */
public final class InputException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public InputException(String message) {
    super(message);
  }

  public InputException(String message, Throwable cause) {
    super(message, cause);
  }
}
