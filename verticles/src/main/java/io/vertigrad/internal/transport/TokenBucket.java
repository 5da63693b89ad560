package io.vertigrad.internal.transport;

/**
 * A limit to bytes per second: each byte takes a token, and tokens come at a fixed rate.
 *
 * <p>A message may go when all of its tokens are there. It takes them at once, so that the bucket
 * then owes some; whoever comes next waits for those, too. Tokens that nobody takes are kept up to
 * the bucket's size. Belongs to one thread at a time.
 */
final class TokenBucket {

  private static final double SECOND = 1e9;

  private final double bytesPerNano;
  private final double size;
  private double tokens;
  private long filledNanos;

  /**
   * A full bucket.
   *
   * @param bytesPerSecond tokens that come in a second
   * @param size bytes that may go at once after a rest
   * @param nowNanos a monotonic clock
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
   * @param nowNanos the same clock
   * @return when it may go by that clock; not before that of an earlier message
   */
  long take(int bytes, long nowNanos) {
    tokens = Math.min(size, tokens + (nowNanos - filledNanos) * bytesPerNano);
    filledNanos = nowNanos;
    tokens -= bytes;
    return tokens >= 0 ? nowNanos : nowNanos + (long) Math.ceil(-tokens / bytesPerNano);
  }
}
