package io.vertigrad.internal.membership;

import java.util.function.LongSupplier;

/**
 * Monotonic nanoseconds that stand still while a job is paused: by it a member limits how long it
 * waits for others, so that no limit passes because nobody is to work. Any thread.
 */
final class PauseClock implements LongSupplier {

  private final LongSupplier nanoClock;
  private volatile Stand stand = new Stand(false, 0);

  /** The time it stands at, or how far it is behind while it runs. */
  private record Stand(boolean still, long nanos) {}

  /** A clock that runs. */
  public PauseClock() {
    this(System::nanoTime);
  }

  PauseClock(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  @Override
  public long getAsLong() {
    Stand now = stand;
    return now.still() ? now.nanos() : nanoClock.getAsLong() - now.nanos();
  }

  /** Stops it or lets it run on from where it stands; one thread. */
  void hold(boolean still) {
    if (still != stand.still()) {
      long time = getAsLong();
      stand = new Stand(still, still ? time : nanoClock.getAsLong() - time);
    }
  }
}
