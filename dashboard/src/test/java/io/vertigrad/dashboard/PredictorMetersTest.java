package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.RunView;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PredictorMetersTest {

  private final RunState state = new RunState(new RunView());
  private final JobView view = new JobView();

  @Test
  void shouldWriteAHistogramOfLatenciesWhenAPredictorReports() {
    state.apply(progress(1_000, 40, 400));
    state.apply(progress(3_000, 50, 600));

    view.take(new JsonObject().put("state", new JsonObject(state.toJson().encode())));
    String text = PredictorMeters.text("digits", view);

    String labels = "{job_name=\"digits\",predictor=\"a1\"";
    assertTrue(text.contains("vertigrad_predictor_version" + labels + "} 50.0\n"), text);
    assertTrue(text.contains("vertigrad_predictor_age_seconds" + labels + "} 0.25\n"), text);
    assertTrue(text.contains("# TYPE vertigrad_predictor_predictions_total counter\n"), text);
    String bucket = "vertigrad_predictor_latency_seconds_bucket" + labels;
    assertTrue(text.contains(bucket + ",le=\"5.0E-4\"} 600.0\n"), text);
    assertTrue(text.contains(bucket + ",le=\"+Inf\"} 601.0\n"), text);
    assertTrue(text.contains("latency_seconds_count" + labels + "} 601.0\n"), text);
    assertTrue(text.contains("latency_seconds_sum" + labels + "} 0.3\n"), text);
    JsonObject shown = state.toJson().getJsonObject("predictors").getJsonObject("a1");
    assertEquals(100, shown.getDouble("predictionsPerSecond"), "200 more in 2 s");
  }

  @Test
  void shouldWriteNothingWhenThereAreNoPredictors() {
    view.take(new JsonObject().put("state", new JsonObject().put("phase", "running")));

    assertEquals("", PredictorMeters.text("digits", view));
  }

  private static PredictorProgress progress(long timeMillis, long version, long answered) {
    return new PredictorProgress(
        timeMillis,
        "a1",
        version,
        250,
        3,
        answered,
        answered,
        answered,
        2,
        1,
        0,
        0.5,
        2.5,
        300_000,
        Map.of(500, answered, Integer.MAX_VALUE, 1L));
  }
}
