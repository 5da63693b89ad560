package io.vertigrad.benchmarks.slowlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SteadyRateTest {

  private final List<JsonObject> events = new ArrayList<>();

  @Test
  void shouldLeaveTheFirstHalfOut() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      progress(rank, 1_000, 64, 0, 0);
      progress(rank, 3_000, 128, 100, 100);
      progress(rank, 6_000, 640, 1_000, 1_000);
      progress(rank, 8_000, 1_280, 2_000, 2_000);
      progress(rank, 11_000, 2_240, 4_000, 3_000);
    }

    assertEquals(2 * (2_240 - 640) / 5.0, SteadyRate.of(events).samplesPerSecond(), 1e-9);
  }

  @Test
  void shouldCountFromStepToStepWhenStepsAreRare() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      for (int second = 0; second <= 10; second++) {
        progress(rank, second * 1_000L, second < 4 ? 64 : second < 8 ? 128 : 192, 10, 10);
      }
    }

    assertEquals(2 * 64 / 4.0, SteadyRate.of(events).samplesPerSecond(), 1e-9);
  }

  @Test
  void shouldTakeTheBusierDirectionOfTheFarWorker() throws Exception {
    progress(0, 1_000, 64, 0, 0);
    progress(1, 1_000, 64, 0, 0);
    progress(0, 9_000, 1_064, 9_000_000, 9_000_000);
    progress(1, 9_000, 1_064, 1_000_000, 3_000_000);

    SteadyRate rate = SteadyRate.of(events);

    assertEquals(1_500, rate.linkBytesPerSample(), 1e-9);
    assertEquals(100 * 125_000 / (1_500 * 1_514 / 1_448.0), rate.limit(100), 1e-6);
  }

  @Test
  void shouldHaveNoLimitWhenNothingWasExchanged() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      progress(rank, 1_000, 64, 0, 0);
      progress(rank, 2_000, 128, 0, 0);
    }

    assertEquals(Double.POSITIVE_INFINITY, SteadyRate.of(events).limit(10));
  }

  @Test
  void shouldSayThatAWorkerTookTooFewSteps() {
    progress(0, 1_000, 64, 0, 0);

    assertEquals(
        "worker 0 took fewer than two steps in its training time",
        assertThrows(IOException.class, () -> SteadyRate.of(events)).getMessage());
  }

  private void progress(int rank, long millis, long samples, long sent, long received) {
    events.add(
        new JsonObject()
            .put("type", "workerProgress")
            .put("rank", rank)
            .put("timeMillis", millis)
            .put("samples", samples)
            .put("bytesSent", sent)
            .put("bytesReceived", received));
  }
}
