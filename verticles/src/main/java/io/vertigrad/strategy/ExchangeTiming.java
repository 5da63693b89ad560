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
   * Adds one exchange: begun, gradient ready, last message here.
   *
   * @param begun when the gradient was begun, {@link System#nanoTime()}
   * @param ready when the gradient was there
   * @param arrived when the last message was there
   * @return the sums with this exchange
   */
  public ExchangeTiming plus(long begun, long ready, long arrived) {
    return new ExchangeTiming(
        exchangeNanos + Math.max(0, arrived - begun),
        waitedNanos + Math.max(0, arrived - Math.max(begun, ready)),
        skipped);
  }

  /**
   * Counts an exchange that was let go of.
   *
   * @return the sums with one more that was skipped
   */
  public ExchangeTiming plusSkipped() {
    return new ExchangeTiming(exchangeNanos, waitedNanos, skipped + 1);
  }

  /**
   * Share of the exchange hidden behind the gradient, 0 to 1; 0 for no exchange.
   *
   * @return the share, from 0 to 1
   */
  public double hiddenShare() {
    return exchangeNanos == 0 ? 0 : 1 - (double) waitedNanos / exchangeNanos;
  }
}
