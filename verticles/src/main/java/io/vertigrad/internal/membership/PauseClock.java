package io.vertigrad.internal.membership;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Monotonic nanoseconds that stand still while the job itself waits. A member limits by this clock
 * how long it waits for others. None of its limits can therefore pass before the limit of the job:
 * nobody gives up on a server while {@code workers.waitSeconds} still allows for a replacement, nor
 * on anybody while {@code exchange.orphanSeconds} allows for a coordinator. Any thread.
 */
final class PauseClock implements LongSupplier {

  /** Why the clock stands still. */
  enum Reason {
    /** The job is paused, or waits for a test. */
    PAUSE,
    /** A shard has no server, and the job waits for another one. */
    SERVER_MISSING,
    /** The coordinator does not answer, so that nobody can say whether anybody is missing. */
    COORDINATOR_SILENT
  }

  private final LongSupplier nanoClock;
  private final Set<Reason> reasons = EnumSet.noneOf(Reason.class);
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

  /** Stops it, or lets it run on from where it stands when no other reason is left; one thread. */
  void hold(Reason reason, boolean holds) {
    if (holds) {
      reasons.add(reason);
    } else {
      reasons.remove(reason);
    }
    boolean still = !reasons.isEmpty();
    if (still != stand.still()) {
      long time = getAsLong();
      stand = new Stand(still, still ? time : nanoClock.getAsLong() - time);
    }
  }
}
