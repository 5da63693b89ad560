package io.vertigrad.strategy;

/**
 * The duration of exchanges, and how much of it the worker spent waiting.
 *
 * @param exchangeNanos total time from the start of each exchange until its last message had
 *     arrived
 * @param waitedNanos part of it without a gradient being computed
 * @param skipped number of gradients that were skipped because they held NaN or infinity
 */
public record ExchangeTiming(long exchangeNanos, long waitedNanos, long skipped) {

  /** The timing before the first exchange. */
  public static final ExchangeTiming NONE = new ExchangeTiming(0, 0, 0);

  /**
   * Adds one exchange. Times are those of {@link System#nanoTime()}.
   *
   * @param begun start of the exchange
   * @param ready time at which the worker's gradient was ready
   * @param arrived arrival of its last message
   * @return the sum
   */
  public ExchangeTiming plus(long begun, long ready, long arrived) {
    return new ExchangeTiming(
        exchangeNanos + Math.max(0, arrived - begun),
        waitedNanos + Math.max(0, arrived - Math.max(begun, ready)),
        skipped);
  }

  /**
   * Adds one skipped gradient.
   *
   * @return the sum
   */
  public ExchangeTiming plusSkipped() {
    return new ExchangeTiming(exchangeNanos, waitedNanos, skipped + 1);
  }

  /**
   * Returns the share of the exchange that overlapped with the gradient.
   *
   * @return 0 to 1; 0 for no exchange
   */
  public double hiddenShare() {
    return exchangeNanos == 0 ? 0 : 1 - (double) waitedNanos / exchangeNanos;
  }
}
