package io.vertigrad.training;

/** A job was started and did not end well; its message is one line that names the culprit. */
public class JobFailedException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception of a failure that no other exception explains.
   *
   * @param message says which job, what went wrong and who caused it
   */
  public JobFailedException(String message) {
    super(message);
  }

  /**
   * Creates the exception of a failure that another exception explains.
   *
   * @param message says which job, what went wrong and who caused it
   * @param cause the exception behind it
   */
  public JobFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
