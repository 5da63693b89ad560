package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class NodeCurvesTest {

  private final NodeCurves curves = new NodeCurves();

  /** Members of one process report the same values. */
  @Test
  void shouldKeepOnePointOfANodeWithSeveralMembers() {
    curves.add(vitals(1_000, 0, "a", 1.5, 300));
    curves.add(vitals(1_010, 1, "a", 1.5, 300));
    curves.add(vitals(1_020, 2, "b", 0.5, 100));
    curves.add(vitals(2_000, 0, "a", 0.25, 400));

    JsonObject a = curves.toJson().getJsonObject("a");
    assertEquals(JsonArray.of(1_000L, 2_000L), a.getJsonArray("timeMillis"));
    assertEquals(JsonArray.of(1.5f, 0.25f), a.getJsonArray("cores"));
    assertEquals(JsonArray.of(300L, 400L), a.getJsonArray("residentBytes"));
    assertEquals(JsonArray.of(0.75f, 0.75f), a.getJsonArray("busyGpus"));
    assertEquals(JsonArray.of(5L, 5L), a.getJsonArray("gpuBytes"));
    assertEquals(1, curves.toJson().getJsonObject("b").getJsonArray("cores").size());
  }

  @Test
  void shouldTakeEachPointOnce() {
    curves.add(vitals(1_000, 0, "a", 1.5, 300));

    JsonObject point = curves.takeFresh().getJsonObject("a");

    assertEquals(1_000L, point.getValue("timeMillis"));
    assertEquals(300L, point.getValue("residentBytes"));
    assertEquals(0, point.getValue("segment"));
    assertEquals(new JsonObject(), curves.takeFresh());
  }

  private static MemberVitals vitals(
      long timeMillis, int rank, String node, double cores, long residentBytes) {
    return new MemberVitals(
        timeMillis,
        Role.WORKER,
        rank,
        0,
        node,
        new Vitals(
            Map.of(
                Vital.CORES,
                cores,
                Vital.RESIDENT,
                (double) residentBytes,
                Vital.BUSY_GPUS,
                0.75,
                Vital.GPU_MEMORY,
                5.0),
            0,
            Map.of()));
  }
}
