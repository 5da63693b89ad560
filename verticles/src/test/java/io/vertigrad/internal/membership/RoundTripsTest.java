package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TimeBuckets;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.internal.membership.ProcessHealth.RoundTrips;
import java.util.EnumSet;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class RoundTripsTest {

  private static final long MILLI = 1_000_000;

  private static final double PRECISION = 1e-3;

  private final RoundTrips trips = new RoundTrips();

  @Test
  void shouldReportNothingBeforeTheFirst() {
    assertEquals(0, trips.quantileMillis(0.5));
  }

  @Test
  void shouldReportTheNearestRankToThreeDigits() {
    for (int millis = 150; millis >= 1; millis--) {
      trips.add(millis * MILLI);
    }

    assertEquals(75, trips.quantileMillis(0.5), 75 * PRECISION);
    assertEquals(149, trips.quantileMillis(0.99), 149 * PRECISION);
    assertEquals(150, trips.quantileMillis(1), 150 * PRECISION);
    assertEquals(1, trips.quantileMillis(0.001), PRECISION);
  }

  @Test
  void shouldMeasureAllButGpusWhenTheProcessHasNoEngine() {
    Vitals vitals = new ProcessHealth("no engine").measure();

    assertEquals(
        EnumSet.complementOf(EnumSet.of(Vital.BUSY_GPUS, Vital.GPU_MEMORY)),
        vitals.values().keySet());
    assertTrue(vitals.value(Vital.HEAP) > 0, vitals::toString);
    assertTrue(vitals.value(Vital.HEAP_LIMIT) >= vitals.value(Vital.HEAP), vitals::toString);
    assertEquals(0, vitals.value(Vital.GPU_MEMORY));
  }

  @Test
  void shouldCountAllByBucket() {
    ProcessHealth health = new ProcessHealth("no engine");
    for (long micros : new long[] {0, 100, 101, 10_000_000, 10_000_001, 3_000_000_000L}) {
      health.recordRoundTrip(1_000 * micros);
    }

    Vitals vitals = health.measure();
    assertEquals(
        Map.of(100, 2L, 200, 1L, 10_000_000, 1L, Integer.MAX_VALUE, 2L), vitals.roundTrips());
    assertEquals(3_020_000_202L, vitals.roundTripMicrosSum());
    assertEquals(100, TimeBuckets.below(200));
    assertEquals(0, TimeBuckets.below(100));
    assertEquals(10_000_000, TimeBuckets.below(Integer.MAX_VALUE));
  }

  @Test
  void shouldKeepOnlyTheLastHundredToTwoHundred() {
    trips.add(60_000 * MILLI);
    for (int i = 0; i < 199; i++) {
      trips.add(MILLI / 4);
    }
    assertEquals(60_000, trips.quantileMillis(1), 60_000 * PRECISION);

    trips.add(MILLI / 4);

    assertEquals(0.25, trips.quantileMillis(1), 0.25 * PRECISION);
  }
}
