package io.vertigrad.internal.transport;

/**
 * Limits bytes per second: each byte takes a token, and tokens arrive at a fixed rate.
 *
 * <p>A message may go when all of its tokens have arrived. It takes them at once, so the number of
 * tokens can be negative; the next message also waits for the missing ones. Unused tokens are kept
 * up to the bucket's size. Used by one thread at a time.
 */
final class TokenBucket {

  private static final double SECOND = 1e9;

  private final double bytesPerNano;
  private final double size;
  private double tokens;
  private long filledNanos;

  /**
   * Creates a full bucket.
   *
   * @param bytesPerSecond tokens that arrive in a second
   * @param size bytes that may go at once after a pause
   * @param nowNanos time of a monotonic clock
   */
  TokenBucket(double bytesPerSecond, int size, long nowNanos) {
    this.bytesPerNano = bytesPerSecond / SECOND;
    this.size = size;
    this.tokens = size;
    this.filledNanos = nowNanos;
  }

  /**
   * Takes the tokens of a message.
   *
   * @param nowNanos time of the same clock
   * @return the time at which the message may go; not before that of an earlier message
   */
  long take(int bytes, long nowNanos) {
    tokens = Math.min(size, tokens + (nowNanos - filledNanos) * bytesPerNano);
    filledNanos = nowNanos;
    tokens -= bytes;
    return tokens >= 0 ? nowNanos : nowNanos + (long) Math.ceil(-tokens / bytesPerNano);
  }
}
