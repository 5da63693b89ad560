package io.vertigrad.observability;

import io.micrometer.core.instrument.Tags;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import java.util.function.ToDoubleFunction;

/** The meters of one predictor. */
final class PredictorMeters {

  private static final double MILLIS = 1e3;

  private final JobMeters meters;
  private final String id;
  private final Tags tags;
  private final CountedTimes latencies;

  /** Registers all meters of this predictor. */
  PredictorMeters(JobMeters meters, String id) {
    this.meters = meters;
    this.id = id;
    tags = Tags.of("predictor", id);
    latencies = meters.times("vertigrad.predictor.latency", tags);
    gauge("version", null, PredictorProgress::version);
    gauge("age", "seconds", report -> report.ageMillis() / MILLIS);
    gauge("waiting", null, PredictorProgress::waiting);
    counter("swaps", PredictorProgress::swaps);
    counter("requests", PredictorProgress::requests);
    counter("predictions", PredictorProgress::predictions);
    counter("passes", PredictorProgress::passes);
    counter("overloaded", PredictorProgress::overloaded);
    counter("invalid", PredictorProgress::invalid);
  }

  /** Counts the latencies of a report. */
  void answered(PredictorProgress report) {
    latencies.add(report.latencies(), report.latencyMicrosSum());
  }

  private void gauge(String name, String unit, ToDoubleFunction<PredictorProgress> figure) {
    meters.gauge("vertigrad.predictor." + name, unit, tags, all -> all.predictor(id, figure));
  }

  private void counter(String name, ToDoubleFunction<PredictorProgress> figure) {
    meters.counter("vertigrad.predictor." + name, null, tags, all -> all.predictor(id, figure));
  }
}
