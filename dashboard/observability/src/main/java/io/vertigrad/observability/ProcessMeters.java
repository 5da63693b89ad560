package io.vertigrad.observability;

import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** A registry with the meters of this JVM, which Prometheus scrapes at {@code /metrics}. */
final class ProcessMeters implements AutoCloseable {

  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
  private static final String OPEN_METRICS =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final JvmGcMetrics collector = new JvmGcMetrics();

  /** Creates the meters of this JVM; all meters have the job's name as a tag. */
  ProcessMeters(String job) {
    registry.config().commonTags("job_name", job);
    new ClassLoaderMetrics().bindTo(registry);
    new JvmMemoryMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    collector.bindTo(registry);
  }

  PrometheusMeterRegistry registry() {
    return registry;
  }

  /** Registers the counters of a Vert.x that was built with {@link BusTraffic#counting()}. */
  void bus(Vertx vertx) {
    BusTraffic.of(vertx).ifPresent(traffic -> BusMeters.register(registry, traffic));
  }

  /** Adds the path to a router. */
  void mount(Router router) {
    router.get("/metrics").handler(this::answer);
  }

  /** Answers a scrape. */
  void answer(RoutingContext request) {
    String accepted = request.request().getHeader(HttpHeaders.ACCEPT);
    String type =
        accepted != null && accepted.contains("application/openmetrics-text") ? OPEN_METRICS : TEXT;
    request.response().putHeader(HttpHeaders.CONTENT_TYPE, type).end(registry.scrape(type));
  }

  @Override
  public void close() {
    collector.close();
    registry.close();
  }
}
