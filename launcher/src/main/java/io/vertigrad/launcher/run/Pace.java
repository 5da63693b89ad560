package io.vertigrad.launcher.run;

import java.util.OptionalDouble;

/**
 * Measures the time per version since the first version seen; single-threaded. The first steps of a
 * JVM are many times slower than later ones. There is therefore no estimate of the remaining time
 * until a share of the versions or some seconds have passed. The page ({@code run.js}) follows the
 * same rule.
 */
final class Pace {

  private static final double NANOS = 1e9;

  /** One in this many versions is enough for an estimate. */
  private static final long SHARE = 50;

  /** This many seconds are enough for an estimate. */
  private static final double LONG_SECONDS = 10;

  private boolean begun;
  private long firstVersion;
  private long firstNanos;
  private long version;

  /** Records that a worker has seen this version; a resumed run does not begin with 0. */
  void reached(long seen, long nowNanos) {
    if (!begun) {
      begun = true;
      firstVersion = seen;
      firstNanos = nowNanos;
    }
    version = Math.max(version, seen);
  }

  /**
   * Returns the estimated seconds until the last version; empty when it is too early for an
   * estimate.
   */
  OptionalDouble secondsTo(long lastVersion, long nowNanos) {
    if (version <= firstVersion || nowNanos <= firstNanos) {
      return OptionalDouble.empty();
    }
    double seconds = (nowNanos - firstNanos) / NANOS;
    if (SHARE * (version - firstVersion) < lastVersion - firstVersion && seconds < LONG_SECONDS) {
      return OptionalDouble.empty();
    }
    return OptionalDouble.of(
        Math.max(0, lastVersion - version) * seconds / (version - firstVersion));
  }
}
