package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tests the figures of predictors and scalars, and that an application's registry keeps only its
 * own meters.
 */
class PredictorMetersTest {

  private final Vertx vertx = Vertx.vertx();
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  @AfterEach
  void close() {
    vertx.close();
  }

  @Test
  void shouldCountLatenciesInAHistogramWhenAPredictorReports() {
    registry.counter("own.orders").increment();
    JobMeters meters = JobMeters.bind(vertx, "digits", registry);
    EventPublisher events = new EventPublisher(vertx, new Addresses("digits"));

    for (PredictorProgress report : List.of(progress(1_000, 40, 400), progress(3_000, 50, 600))) {
      events.publish(report);
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> registry.scrape().contains("predictor_version{job_name=\"digits\""));
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> registry.scrape().contains("predictor=\"a1\"} 50.0"));

    String text = registry.scrape();
    String labels = "{job_name=\"digits\",predictor=\"a1\"";
    assertTrue(text.contains("vertigrad_predictor_age_seconds" + labels + "} 0.25\n"), text);
    assertTrue(text.contains("# TYPE vertigrad_predictor_predictions_total counter\n"), text);
    String bucket = "vertigrad_predictor_latency_seconds_bucket" + labels;
    assertTrue(text.contains(bucket + ",le=\"5.0E-4\"} 600\n"), text);
    assertTrue(text.contains(bucket + ",le=\"10.0\"} 600\n"), text);
    assertTrue(text.contains(bucket + ",le=\"+Inf\"} 601\n"), text);
    assertTrue(text.contains("latency_seconds_count" + labels + "} 601\n"), text);
    double sum =
        registry
            .find("vertigrad.predictor.latency")
            .timer()
            .totalTime(java.util.concurrent.TimeUnit.SECONDS);
    assertEquals(12.3, sum, 1e-6);

    meters.close();
    assertEquals(
        List.of("own.orders"),
        registry.getMeters().stream().map(m -> m.getId().getName()).toList());
  }

  @Test
  void shouldHaveAGaugeForEachScalarAndSource() {
    JobMeters meters = JobMeters.bind(vertx, "digits", registry);
    EventPublisher events = new EventPublisher(vertx, new Addresses("digits"));

    events.publish(new ScalarReported(1, "server 0", "cut.share", 1, 0.5, 1, 0));
    events.publish(new ScalarReported(2, "server 0", "cut.share", 2, 0.25, 2, 0));
    events.publish(new ScalarReported(2, "worker 1", "cut.share", 2, Double.NaN, 1, 1));
    for (int i = 0; i < 200; i++) {
      events.publish(new ScalarReported(3, "worker " + i, "many", 2, i, 1, 0));
    }
    events.publish(new ScalarReported(4, "server 0", "cut.share", 3, 0.125, 3, 0));

    String labels = "vertigrad_scalar{job_name=\"digits\",name=\"cut.share\",source=\"";
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> registry.scrape().contains(labels + "server 0\"} 0.125\n"));
    String text = registry.scrape();
    assertTrue(text.contains(labels + "worker 1\"} NaN\n"), text);
    assertEquals(128, text.lines().filter(line -> line.startsWith("vertigrad_scalar{")).count());
    meters.close();
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
        12_000_000 + 500 * answered,
        Map.of(500, answered, Integer.MAX_VALUE, 1L));
  }
}
