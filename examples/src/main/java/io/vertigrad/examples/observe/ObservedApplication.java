package io.vertigrad.examples.observe;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.exporter.logging.LoggingSpanExporter;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.vertigrad.observability.JobMeters;
import io.vertigrad.observability.RoundTraces;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.tracing.opentelemetry.OpenTelemetryTracingFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An application with a registry and a tracer of its own. {@code POST /train} trains a job, {@code
 * GET /metrics} shows the application's meters and the job's.
 */
public final class ObservedApplication {

  private static final int TRACED_EVERY = 100;

  private final OpenTelemetry telemetry;
  private final MeterRegistry registry;
  private final Vertx vertx;

  /** Creates the application with what it exports spans and meters to. */
  ObservedApplication(SpanExporter spans, MeterRegistry registry) {
    this.registry = registry;
    SdkTracerProvider tracers =
        SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build();
    telemetry = OpenTelemetrySdk.builder().setTracerProvider(tracers).build();
    vertx = Vertx.builder().withTracer(new OpenTelemetryTracingFactory(telemetry)).build();
  }

  /** Starts the application with the job file {@code conf/digits-sync.json}. */
  public static void main(String[] arguments) throws IOException {
    JsonObject job = new JsonObject(Files.readString(Path.of("conf/digits-sync.json")));
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    new ObservedApplication(LoggingSpanExporter.create(), registry)
        .serve(8080, job, registry)
        .onSuccess(
            server -> System.out.println("curl -X POST http://127.0.0.1:8080/train, then /metrics"))
        .onFailure(Throwable::printStackTrace);
  }

  /** Listens on loopback; {@code port} may be 0 for any free one. */
  Future<HttpServer> serve(int port, JsonObject job, PrometheusMeterRegistry scraped) {
    Router router = Router.router(vertx);
    router.post("/train").respond(request -> train(job).map(ObservedApplication::figures));
    router.get("/metrics").respond(request -> Future.succeededFuture(scraped.scrape()));
    return vertx.createHttpServer().requestHandler(router).listen(port, "127.0.0.1");
  }

  Future<Void> close() {
    return vertx.close();
  }

  private static JsonObject figures(TrainingResult result) {
    return new JsonObject().put("accuracy", result.accuracy()).put("hash", result.parametersHash());
  }

  private Future<TrainingResult> train(JsonObject job) {
    return TrainingJob.of(job.copy().put("timeline", true))
        .deploy(vertx)
        .onSuccess(running -> JobMeters.bind(running, registry))
        .onSuccess(running -> RoundTraces.export(vertx, running, telemetry, TRACED_EVERY))
        .compose(RunningJob::result);
  }
}
