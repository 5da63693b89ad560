package io.vertigrad.training;

/** Thrown when a job was started and failed; its message is one line that names the cause. */
public class JobFailedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception without a cause.
   *
   * @param message says which job failed, what went wrong and what caused it
   */
  public JobFailedException(String message) {
    super(message);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param message says which job failed, what went wrong and what caused it
   * @param cause the exception that caused the failure
   */
  public JobFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
