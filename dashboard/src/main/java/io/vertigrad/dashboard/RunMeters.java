package io.vertigrad.dashboard;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/**
 * The meters that Prometheus scrapes, with the names of {@code docs/reference/metrics.md}: the
 * newest values of {@link RunMetrics}, and those of this JVM. A scrape only reads them, so it does
 * not slow down training; single-threaded.
 */
final class RunMeters implements AutoCloseable {

  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
  private static final Set<String> PHASES =
      Set.of("waiting", "running", "paused", "finished", "failed", "stopped", "interrupted");
  private static final double PERCENT = 100;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final JvmGcMetrics collector = new JvmGcMetrics();
  private final Set<String> known = new HashSet<>();
  private final JobView view;
  private final String job;

  /**
   * Creates a job's meters.
   *
   * @param traffic the counters of this process's event bus, if it has any
   */
  RunMeters(String job, JobView view, Optional<BusTraffic> traffic) {
    this.view = view;
    this.job = job;
    registry.config().commonTags("job_name", job);
    traffic.ifPresent(bus -> BusMeters.register(registry, bus));
    machine();
    job();
  }

  /** Answers a scrape. */
  void answer(RoutingContext request) {
    for (String member : view.members().keySet()) {
      if (known.add(member)) {
        MemberMeters.register(registry, view, member);
      }
    }
    request
        .response()
        .putHeader("Content-Type", TEXT)
        .end(registry.scrape() + PredictorMeters.text(job, view));
  }

  @Override
  public void close() {
    collector.close();
    registry.close();
  }

  private void machine() {
    new ClassLoaderMetrics().bindTo(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    collector.bindTo(registry);
  }

  private void job() {
    for (String phase : PHASES) {
      Gauge.builder("vertigrad.job.phase", view, all -> all.phase().equals(phase) ? 1 : 0)
          .tag("phase", phase)
          .register(registry);
    }
    FunctionCounter.builder("vertigrad.job.samples", view, all -> number(all, "samples", 0))
        .register(registry);
    gauge("vertigrad.job.version", "version", 1);
    gauge("vertigrad.job.last.version", "lastVersion", 1);
    gauge("vertigrad.job.epoch", "epoch", 1);
    gauge("vertigrad.job.parameters", "parameters", 1);
    gauge("vertigrad.job.samples.per.second", "samplesPerSecond", 1);
    gauge("vertigrad.job.loss", "loss", 1);
    gauge("vertigrad.job.test.loss", "testLoss", 1);
    gauge("vertigrad.job.test.accuracy.ratio", "accuracy", PERCENT);
    metric(Metric.RMSE, "vertigrad.job.test.rmse", 1);
    metric(Metric.PERPLEXITY, "vertigrad.job.test.perplexity", 1);
    metric(Metric.LABEL_ACCURACY, "vertigrad.job.test.label.accuracy.ratio", PERCENT);
    gauge("vertigrad.job.tested.version", "testedVersion", 1);
    gauge("vertigrad.job.consensus.distance", "consensusDistance", 1);
    stream("vertigrad.job.stream.events", "events");
    stream("vertigrad.job.stream.accuracy.ratio", "accuracy");
    stream("vertigrad.job.stream.window.accuracy.ratio", "windowAccuracy");
    stream("vertigrad.job.stream.rmse", "rmse");
    stream("vertigrad.job.stream.window.rmse", "windowRmse");
    stream("vertigrad.job.stream.kappa", "kappa");
    stream("vertigrad.job.stream.no.change", "noChange");
    stream("vertigrad.job.stream.majority.ratio", "majority");
    stream("vertigrad.job.stream.unlabelled", "unlabelled");
    stream("vertigrad.job.stream.unmatched", "unmatched");
    stream("vertigrad.job.stream.bad", "bad");
    stream("vertigrad.job.stream.lost", "lost");
  }

  /** Registers a figure of the tests of a stream; it is NaN for other data. */
  private void stream(String meter, String key) {
    Gauge.builder(
            meter,
            view,
            all ->
                all.state().getValue("stream") instanceof JsonObject stream
                        && stream.getValue(key) instanceof Number number
                    ? number.doubleValue()
                    : Double.NaN)
        .register(registry);
  }

  private void gauge(String meter, String key, double divisor) {
    Gauge.builder(meter, view, all -> number(all, key, Double.NaN) / divisor).register(registry);
  }

  /** Registers a metric; it is NaN when the job's tests have another metric. */
  private void metric(Metric metric, String meter, double divisor) {
    Gauge.builder(
            meter,
            view,
            all ->
                metric.key().equals(all.state().getString("metric", ""))
                    ? number(all, "metricValue", Double.NaN) / divisor
                    : Double.NaN)
        .register(registry);
  }

  private static double number(JobView view, String key, double otherwise) {
    JsonObject state = view.state();
    return state.getValue(key) instanceof Number number ? number.doubleValue() : otherwise;
  }
}
