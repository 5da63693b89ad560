package io.vertigrad.examples.observe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Trains a job inside a traced request, and looks at what the application's libraries got. */
@Tag("slow")
@Timeout(180)
class ObservedApplicationTest {

  private static final AttributeKey<Long> STEP = AttributeKey.longKey("vertigrad.step");

  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Set<String> names = new ConcurrentSkipListSet<>();
  private final ObservedApplication application = new ObservedApplication(exported, registry);

  @AfterEach
  void close() {
    application.close();
  }

  @Test
  void shouldGetMetersAndTracesOfTheJobThatARequestTrains() throws Exception {
    registry.counter("own.orders").increment();
    registry.config().onMeterAdded(meter -> names.add(meter.getId().getName()));
    int port =
        application
            .serve(0, job(), registry)
            .toCompletionStage()
            .toCompletableFuture()
            .get(30, TimeUnit.SECONDS)
            .actualPort();

    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/train"))
                    .POST(HttpRequest.BodyPublishers.noBody())
                    .build(),
                BodyHandlers.ofString());

    assertEquals(200, answer.statusCode(), answer.body());
    assertTrue(new JsonObject(answer.body()).getDouble("accuracy") > 20, answer.body());
    assertTrue(
        names.containsAll(
            List.of(
                "vertigrad.job.version",
                "vertigrad.worker.step",
                "vertigrad.server.updates",
                "vertigrad.member.round.trip")),
        names::toString);
    // The answer may arrive before the traces and meters are closed.
    Awaitility.await("the job's meters are gone, and all spans are exported")
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                meters().equals(Set.of("own.orders"))
                    && spans().anyMatch(span -> span.getName().equals("POST"))
                    && spans().anyMatch(span -> Long.valueOf(100).equals(step(span))));
    List<SpanData> rounds =
        spans()
            .filter(span -> span.getName().equals("round"))
            .filter(span -> Long.valueOf(100).equals(step(span)))
            .toList();
    assertEquals(1, rounds.size(), "the traces were bound before round 100 of 120");
    assertEquals(Set.of("server 0", "worker 0", "worker 1"), below(rounds.get(0)));
    assertEquals(
        List.of("POST"),
        spans().filter(span -> span.getKind() != SpanKind.INTERNAL).map(SpanData::getName).toList(),
        "no message of the job belongs to the request");
  }

  private Set<String> meters() {
    return registry.getMeters().stream()
        .map(meter -> meter.getId().getName())
        .collect(Collectors.toSet());
  }

  private Stream<SpanData> spans() {
    return exported.getFinishedSpanItems().stream();
  }

  private static Long step(SpanData span) {
    return span.getAttributes().get(STEP);
  }

  private Set<String> below(SpanData parent) {
    return spans()
        .filter(span -> span.getParentSpanId().equals(parent.getSpanId()))
        .map(SpanData::getName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static JsonObject job() {
    return new JsonObject()
        .put("job", "observed")
        .put("seed", 1)
        .put("steps", 120)
        .put("data", new JsonObject().put("name", "digits").put("train", 1_000).put("test", 200))
        .put("model", new JsonObject().put("name", "convnet"))
        .put("optimizer", new JsonObject().put("name", "adam").put("learningRate", 0.01))
        .put("strategy", new JsonObject().put("name", "sync"))
        .put("workers", new JsonObject().put("count", 2).put("batch", 16))
        .put("servers", new JsonObject().put("count", 1));
  }
}
