package io.vertigrad.internal.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.vertigrad.internal.timeline.MemberTimeline.SpanBuffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

final class SpanBufferTest {

  private final SpanBuffer buffer = new SpanBuffer(1_000_000);

  @Test
  void shouldSendRecordedSpansOnceInMicrosecondsOfTheWallClock() {
    buffer.span("compute", 2_999, 7_001, 5);
    buffer.span("wait", 7_001, 9_500, 5);
    buffer.span("compute", -1, 3_000, 6);
    buffer.span("blink", 9_500, 10_499, 6);

    JsonObject shipped = buffer.take();

    assertEquals(JsonArray.of("compute", "wait"), shipped.getJsonArray("names"));
    assertEquals(
        new JsonArray("[0,1000002,5,5, 1,1000007,2,5, 0,999999,4,6]"),
        new JsonArray(shipped.getJsonArray("spans").encode()));
    assertEquals(0, shipped.getLong("dropped"));
    assertNull(buffer.take());
  }

  @Test
  void shouldCountSpansBeyondTheLimit() {
    for (int i = 0; i < SpanBuffer.CAPACITY + 3; i++) {
      buffer.span("compute", 0, 1_000, i);
    }

    JsonObject shipped = buffer.take();

    assertEquals(4 * SpanBuffer.CAPACITY, shipped.getJsonArray("spans").size());
    assertEquals(3, shipped.getLong("dropped"));
    assertNull(buffer.take());
  }

  @Test
  void shouldRecordNothingByDefault() {
    SpanRecorder.OFF.span("compute", 0, 1_000, 1);

    assertEquals(0, SpanRecorder.OFF.now());
  }
}
