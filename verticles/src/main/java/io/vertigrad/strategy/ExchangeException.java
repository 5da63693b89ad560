package io.vertigrad.strategy;

/** An exchange that cannot succeed. The message names the cause and what to do. */
public class ExchangeException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message names the cause and what to do
   */
  public ExchangeException(String message) {
    super(message);
  }

  /**
   * Creates the exception of another one.
   *
   * @param message names the cause and what to do
   * @param cause the other one
   */
  public ExchangeException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Returns whether the job fails too, because another worker would fail in the same way.
   *
   * @return false by default
   */
  public boolean failsJob() {
    return false;
  }

  /** The training diverged. The message names the step, but not what to try. */
  public static final class DivergedException extends ExchangeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message names the step
     */
    public DivergedException(String message) {
      super(message);
    }

    @Override
    public boolean failsJob() {
      return true;
    }
  }

  /** An exchange that got no answer before its deadline. */
  public static final class UnansweredException extends ExchangeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception.
     *
     * @param message names what is missing and who was to send it
     */
    public UnansweredException(String message) {
      super(message);
    }
  }
}
