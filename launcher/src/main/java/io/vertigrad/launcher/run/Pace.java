package io.vertigrad.launcher.run;

import java.util.OptionalDouble;

/**
 * How fast versions follow each other, since the first that was heard of; single-threaded. The
 * first steps of a JVM are many times slower than those that follow, so nothing is told of what is
 * left until a part of the versions or some seconds have passed; the page ({@code run.js}) does the
 * same.
 */
final class Pace {

  private static final double NANOS = 1e9;

  /** One in so many versions makes a pace, */
  private static final long SHARE = 50;

  /** and so does this time. */
  private static final double LONG_SECONDS = 10;

  private boolean begun;
  private long firstVersion;
  private long firstNanos;
  private long version;

  /** A worker has seen this version; a resumed run does not begin with 0. */
  void reached(long seen, long nowNanos) {
    if (!begun) {
      begun = true;
      firstVersion = seen;
      firstNanos = nowNanos;
    }
    version = Math.max(version, seen);
  }

  /** Seconds until the last version at this pace; empty while there is none. */
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
