package io.vertigrad.internal.exchange;

/**
 * A rule of the job's strategy has thrown. The job fails, because the rule may have done half of a
 * step, and would throw again.
 */
public final class RuleException extends ExchangeException {

  private static final long serialVersionUID = 1L;
  private static final int LONGEST_MESSAGE = 300;

  /**
   * Creates the error of a rule.
   *
   * @param strategy the strategy's name in the job file
   * @param where the rule was, such as {@code partition 2, version 100}
   * @param thrown what it has thrown
   */
  public RuleException(String strategy, String where, Throwable thrown) {
    super("strategy \"%s\" failed at %s: %s".formatted(strategy, where, text(thrown)), thrown);
  }

  @Override
  public boolean failsJob() {
    return true;
  }

  /** Returns class, message and place of what was thrown, in one line. */
  private static String text(Throwable thrown) {
    String message = String.valueOf(thrown).strip().replaceAll("\\s+", " ");
    String cut =
        message.length() > LONGEST_MESSAGE
            ? message.substring(0, LONGEST_MESSAGE) + "..."
            : message;
    StackTraceElement[] trace = thrown.getStackTrace();
    return trace.length == 0 ? cut : cut + ", at " + trace[0];
  }
}
