package io.vertigrad.benchmarks.overlap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TransportKind;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepTimesTest {

  private static final double EXACT = 1e-9;

  @Test
  void shouldTakeTheMediansOfAllWorkersStepsAfterTheFirst() {
    List<JsonObject> events = new ArrayList<>();
    events.add(new JsonObject().put("name", "process_name").put("ph", "M").put("pid", 1));
    for (int pid = 1; pid <= 2; pid++) {
      events.add(span("compute", pid, 0, 0, 900_000));
      events.add(span("compute", pid, 1, 1_000_000, 2_000 * pid));
      events.add(span("wait", pid, 1, 1_000_000 + 2_000 * pid, 5_000));
      events.add(span("compute", pid, 2, 1_010_000, 2_000 * pid));
      events.add(span("compute", pid, 3, 1_020_000, 2_000 * pid));
    }

    StepTimes times = StepTimes.of(events, 1);

    assertEquals(3, times.computeMillis(), EXACT);
    assertEquals(7, times.waitMillis(), EXACT);
    assertEquals(10, times.millis(), EXACT);
    assertEquals(6, times.exchangeMillis(), EXACT);
  }

  @Test
  void shouldRefuseATimelineWithoutTwoStepsInARow() {
    List<JsonObject> events = List.of(span("compute", 1, 7, 0, 1), span("compute", 1, 9, 5, 1));

    assertThrows(IllegalStateException.class, () -> StepTimes.of(events, 0));
  }

  @Test
  void shouldMakeJobFilesThatAreAccepted() {
    for (OverlapCase one : OverlapCase.all()) {
      JobConfig job = JobConfig.read("test", one.job(30, true));

      assertTrue(job.exchange().overlap());
      assertEquals(TransportKind.STREAM, job.exchange().transport());
    }
  }

  private static JsonObject span(String name, int pid, long step, long micros, long duration) {
    return new JsonObject()
        .put("name", name)
        .put("ph", "X")
        .put("pid", pid)
        .put("ts", micros)
        .put("dur", duration)
        .put("args", new JsonObject().put("step", step));
  }
}
