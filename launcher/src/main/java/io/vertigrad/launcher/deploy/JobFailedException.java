package io.vertigrad.launcher.deploy;

/** The job was started and did not end well; the one-line message names the culprit. */
public class JobFailedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public JobFailedException(String message) {
    super(message);
  }

  public JobFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
