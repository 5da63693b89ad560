package io.vertigrad.launcher.run;

import java.util.OptionalDouble;

/** How fast versions follow each other, since the first that was heard of; single-threaded. */
final class Pace {

  private static final double NANOS = 1e9;

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
    return OptionalDouble.of(
        Math.max(0, lastVersion - version) * seconds / (version - firstVersion));
  }
}
