package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonArray;
import org.junit.jupiter.api.Test;

final class CurveTest {

  private final Curve curve = new Curve("version", "loss", "samplesPerSecond");
  private long now = 1_000;

  @Test
  void shouldKeepEveryPointWhileThereIsRoom() {
    curve.add(1_000, 5, 0.5, 100);
    curve.add(2_000, 9, 0.25, 200);

    assertEquals(JsonArray.of(1_000L, 2_000L), curve.toJson().getJsonArray("timeMillis"));
    assertEquals(JsonArray.of(5L, 9L), curve.toJson().getJsonArray("version"));
    assertEquals(JsonArray.of(0.5f, 0.25f), curve.toJson().getJsonArray("loss"));
  }

  @Test
  void shouldStayBoundedAndKeepTheMeanWhenARunIsLong() {
    int points = 7 * Curve.CAPACITY;
    for (int i = 0; i < points; i++) {
      curve.add(i, i, i, 1);
    }

    JsonArray loss = curve.toJson().getJsonArray("loss");
    double mean = loss.stream().mapToDouble(v -> ((Number) v).doubleValue()).average().orElse(-1);
    assertTrue(loss.size() <= Curve.CAPACITY && loss.size() > Curve.CAPACITY / 2, "" + loss.size());
    // By now eight neighbours make one point; an incomplete point is missing at the end.
    assertEquals((points - 1) / 2.0, mean, 8);
    for (int i = 1; i < loss.size(); i++) {
      assertTrue(loss.getDouble(i) > loss.getDouble(i - 1), "order at " + i);
    }
  }

  @Test
  void shouldSeparatePointsBeforeAndAfterAnInterruption() {
    // An odd number of points before the interruption, so that a pair of neighbours would span it.
    int before = 3 * Curve.CAPACITY + 1;
    for (int i = 0; i < before; i++) {
      curve.add(1_000 + i, i, 2, 1);
    }
    curve.interrupt();
    for (int i = 0; i < 2 * before; i++) {
      curve.add(1_000 + before + i, before + i, 1, 1);
    }

    JsonArray loss = curve.toJson().getJsonArray("loss");
    JsonArray segment = curve.toJson().getJsonArray("segment");
    assertTrue(loss.size() <= Curve.CAPACITY, "" + loss.size());
    for (int i = 0; i < loss.size(); i++) {
      assertEquals(segment.getInteger(i) == 0 ? 2f : 1f, loss.getFloat(i), "at " + i);
    }
    assertEquals(1L, segment.getValue(segment.size() - 1));
  }

  @Test
  void shouldStartASegmentAfterAnUnusuallyLongGap() {
    for (int step : new int[] {300, 300, 300, 300, 1_900, 300, 2_500, 300}) {
      now += step;
      curve.add(now, 1, 1, 1);
    }
    assertEquals("[0,0,0,0,0,0,0,0]", segments(), "2.5 s are not long where 1.9 s occur");

    now += 9_000;
    curve.add(now, 1, 1, 1);

    assertEquals("[0,0,0,0,0,0,0,0,1]", segments());
  }

  @Test
  void shouldNotMistakeLongStepsForInterruptions() {
    for (int i = 0; i < 20; i++) {
      now += 30_000;
      curve.add(now, i, 1, 1);
    }

    assertFalse(segments().contains("1"), segments());
  }

  @Test
  void shouldStayBoundedWhenEveryPointIsASegment() {
    for (int i = 1; i <= 5 * Curve.CAPACITY; i++) {
      curve.add(i, i, 1, 1);
      curve.interrupt();
    }

    JsonArray segment = curve.toJson().getJsonArray("segment");
    assertTrue(segment.size() <= Curve.CAPACITY, "" + segment.size());
    assertEquals(segment.size(), segment.stream().distinct().count());
  }

  private String segments() {
    return curve.toJson().getJsonArray("segment").encode();
  }

  @Test
  void shouldLeaveOutLossesThatAreNotFinite() {
    curve.add(1, 1, Double.NaN, 1);

    assertEquals(0, curve.toJson().getJsonArray("loss").size());
  }
}
