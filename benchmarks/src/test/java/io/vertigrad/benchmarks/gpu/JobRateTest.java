package io.vertigrad.benchmarks.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class JobRateTest {

  private final List<JsonObject> events = new ArrayList<>();

  @Test
  void shouldLeaveTheWarmUpOutAndAddTheWorkers() {
    report(0, 1_000, 10);
    report(1, 1_000, 10);
    report(0, 2_000, 20);
    report(0, 3_000, 100);
    report(1, 3_500, 200);
    report(0, 5_000, 500);
    report(1, 5_500, 1_000);
    events.add(new JsonObject().put("type", "evaluated").put("timeMillis", 9_000));

    assertEquals(400 / 2.0 + 800 / 2.0, JobRate.samplesPerSecond(events, 1.5), 1e-9);
  }

  @Test
  void shouldRefuseARunWithoutEnoughReports() {
    assertEquals(
        "found no report of a worker, expected some",
        assertThrows(IllegalStateException.class, () -> JobRate.samplesPerSecond(events, 1))
            .getMessage());
    report(2, 1_000, 10);
    report(2, 4_000, 30);
    assertEquals(
        "found 1 reports of worker 2 after the first 2 s, expected 2 or more: a step takes too long",
        assertThrows(IllegalStateException.class, () -> JobRate.samplesPerSecond(events, 2))
            .getMessage());
  }

  private void report(int rank, long millis, long samples) {
    events.add(
        new JsonObject()
            .put("type", "workerProgress")
            .put("rank", rank)
            .put("timeMillis", millis)
            .put("samples", samples));
  }
}
