package io.vertigrad.verticles.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonArray;
import org.junit.jupiter.api.Test;

final class CurveTest {

  private final Curve curve = new Curve();

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
    // Eight neighbours make a point by now; points not yet complete are missing at the end.
    assertEquals((points - 1) / 2.0, mean, 8);
    for (int i = 1; i < loss.size(); i++) {
      assertTrue(loss.getDouble(i) > loss.getDouble(i - 1), "order at " + i);
    }
  }

  @Test
  void shouldLeaveOutLossesThatAreNotFinite() {
    curve.add(1, 1, Double.NaN, 1);

    assertEquals(0, curve.toJson().getJsonArray("loss").size());
  }
}
