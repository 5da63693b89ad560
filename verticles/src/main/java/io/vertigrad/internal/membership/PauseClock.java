package io.vertigrad.internal.membership;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Monotonic nanoseconds that stand still while the whole job waits. A member uses this clock to
 * limit how long it waits for others. Its limits therefore cannot pass before the job's own limit:
 * it does not give up on a server while {@code workers.waitSeconds} still allows for a replacement,
 * nor on any member while {@code exchange.orphanSeconds} allows for a coordinator. May be read from
 * any thread.
 */
final class PauseClock implements LongSupplier {

  /** The reason why the clock stands still. */
  enum Reason {
    /** The job is paused, or waits for a test. */
    PAUSE,
    /** A shard has no server, and the job waits for another one. */
    SERVER_MISSING,
    /** The coordinator does not answer, so nobody knows whether a member is missing. */
    COORDINATOR_SILENT
  }

  private final LongSupplier nanoClock;
  private final Set<Reason> reasons = EnumSet.noneOf(Reason.class);
  private volatile Stand stand = new Stand(false, 0);

  /** The time it stands at, or the offset from the real clock while it runs. */
  private record Stand(boolean still, long nanos) {}

  /** Creates a running clock. */
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

  /** Adds or removes a reason; the clock runs while there is none. Call it from one thread. */
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
