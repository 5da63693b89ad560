package io.vertigrad.collective;

import java.util.Random;

/** The faults of the simulated network: probabilities from 0 to 1, and times. */
public record NetworkFaults(double loss, double duplicates, long latencyNanos, long jitterNanos) {

  public static final NetworkFaults NONE = new NetworkFaults(0, 0, 50_000, 0);
  public static final NetworkFaults FREQUENT = new NetworkFaults(0.1, 0.1, 50_000, 3_000_000);
  static final long RETRY_NANOS = 10_000_000;

  /** Returns the delay of the next message. */
  long delayNanos(Random random) {
    return latencyNanos + (jitterNanos == 0 ? 0 : (long) (random.nextDouble() * jitterNanos));
  }
}
