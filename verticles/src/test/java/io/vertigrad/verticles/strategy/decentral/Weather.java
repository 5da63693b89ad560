package io.vertigrad.verticles.strategy.decentral;

import java.util.Random;

/** What the network does to each message: shares of all from 0 to 1, and times. */
record Weather(double loss, double duplicates, long latencyNanos, long jitterNanos) {

  static final Weather FAIR = new Weather(0, 0, 50_000, 0);
  static final Weather ROUGH = new Weather(0.1, 0.1, 50_000, 3_000_000);
  static final long RETRY_NANOS = 10_000_000;

  /** How long the next message takes. */
  long delayNanos(Random random) {
    return latencyNanos + (jitterNanos == 0 ? 0 : (long) (random.nextDouble() * jitterNanos));
  }
}
