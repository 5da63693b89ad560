package io.vertigrad.verticles.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class RoundTripsTest {

  private static final long MILLI = 1_000_000;

  private final RoundTrips trips = new RoundTrips();

  @Test
  void shouldTellNothingBeforeTheFirst() {
    assertEquals(0, trips.quantileMillis(0.5));
  }

  @Test
  void shouldTellTheNearestRankOfTheLastHundred() {
    for (int millis = 1_000; millis >= 1; millis--) {
      trips.add(millis * MILLI);
    }

    assertEquals(50, trips.quantileMillis(0.5));
    assertEquals(99, trips.quantileMillis(0.99));
    assertEquals(100, trips.quantileMillis(1));
  }
}
