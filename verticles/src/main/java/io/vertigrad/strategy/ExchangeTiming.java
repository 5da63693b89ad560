package io.vertigrad.strategy;

/**
 * How long exchanges took and how much of that the worker had to wait for.
 *
 * @param exchangeNanos from the start of each exchange until its last message had arrived
 * @param waitedNanos of these, without a gradient to compute meanwhile
 * @param skipped gradients left out because they held NaN or infinity
 */
public record ExchangeTiming(long exchangeNanos, long waitedNanos, long skipped) {

  /** Nothing yet. */
  public static final ExchangeTiming NONE = new ExchangeTiming(0, 0, 0);

  /**
   * Adds one exchange; times are those of {@link System#nanoTime()}.
   *
   * @param begun when it began
   * @param ready when the worker's gradient was there
   * @param arrived when its last message was here
   * @return the sum
   */
  public ExchangeTiming plus(long begun, long ready, long arrived) {
    return new ExchangeTiming(
        exchangeNanos + Math.max(0, arrived - begun),
        waitedNanos + Math.max(0, arrived - Math.max(begun, ready)),
        skipped);
  }

  /**
   * Adds one gradient that was left out.
   *
   * @return the sum
   */
  public ExchangeTiming plusSkipped() {
    return new ExchangeTiming(exchangeNanos, waitedNanos, skipped + 1);
  }

  /**
   * Returns the share of the exchange that was hidden behind the gradient.
   *
   * @return 0 to 1; 0 for no exchange
   */
  public double hiddenShare() {
    return exchangeNanos == 0 ? 0 : 1 - (double) waitedNanos / exchangeNanos;
  }
}
