package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Gives spans as members send them, and looks at what OpenTelemetry exports. */
final class RoundTracesTest {

  private static final long BEGIN = 1_790_000_000_000_000L;

  private final Vertx vertx = Vertx.vertx();
  private final InMemorySpanExporter exported = InMemorySpanExporter.create();

  @AfterEach
  void close() {
    vertx.close();
  }

  @Test
  void shouldExportOneTracePerTracedRoundWithAllMembersBelowIt() {
    // So late that the timer of the traces exports nothing meanwhile.
    long sent = System.currentTimeMillis() + 3_600_000;
    RoundTraces traces = RoundTraces.export(vertx, job("sync"), telemetry(), 2);
    for (long step = 0; step < 4; step++) {
      traces.take(sent("worker 0", step, "compute", "send", "wait"), sent);
      traces.take(sent("worker 1", step, "compute", "send", "wait"), sent);
      traces.take(sent("server 0", step, "apply partition 0"), sent);
    }
    traces.exportComplete(sent + 999);
    assertEquals(0, exported.getFinishedSpanItems().size(), "more may come");
    traces.exportComplete(sent + 1_000);
    assertEquals(11, exported.getFinishedSpanItems().size(), "round 2 is the newest but one");
    traces.close();

    List<SpanData> spans = exported.getFinishedSpanItems();
    assertEquals(22, spans.size(), "rounds 0 and 2, and nothing of 1 and 3");
    List<SpanData> roots = spans.stream().filter(span -> span.getName().equals("round")).toList();
    assertEquals(2, roots.size());
    SpanData first = roots.get(0);
    assertTrue(
        first.getParentSpanContext().isRemote(), "what decides the trace id is not exported");
    assertEquals(Optional.of(first.getTraceId()), traces.traceId("worker 1", 0));
    assertEquals(Optional.of(first.getTraceId()), traces.traceId("server 0", 0));
    assertEquals(Optional.of(roots.get(1).getTraceId()), traces.traceId("server 0", 2));
    assertEquals(Optional.empty(), traces.traceId("server 0", 1), "it is not exported");
    assertEquals(Optional.empty(), traces.traceId("evaluator", -1), "it belongs to no round");
    assertEquals(11, spans.stream().filter(s -> s.getTraceId().equals(first.getTraceId())).count());
    assertEquals(
        Set.of("worker 0", "worker 1", "server 0"),
        spans.stream()
            .filter(span -> span.getParentSpanId().equals(first.getSpanId()))
            .map(SpanData::getName)
            .collect(Collectors.toSet()));
    SpanData worker = named(spans, first.getTraceId(), "worker 1");
    SpanData compute =
        spans.stream()
            .filter(span -> span.getParentSpanId().equals(worker.getSpanId()))
            .filter(span -> span.getName().equals("compute"))
            .findFirst()
            .orElseThrow();
    assertEquals(1_000 * BEGIN, compute.getStartEpochNanos());
    assertEquals(1_000 * (BEGIN + 100), compute.getEndEpochNanos());
    assertEquals(1_000 * (BEGIN + 300), worker.getEndEpochNanos(), "the end of its last span");
    assertEquals("traced", first.getAttributes().get(AttributeKey.stringKey("vertigrad.job")));
    assertEquals(0, first.getAttributes().get(AttributeKey.longKey("vertigrad.step")));
  }

  @Test
  void shouldExportTheLastRoundsWhenTheVertxIsClosedBefore() throws Exception {
    RoundTraces traces = RoundTraces.export(vertx, job("sync"), telemetry(), 1);
    traces.take(sent("worker 0", 7, "compute"), 0);
    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);

    traces.close();

    named(exported.getFinishedSpanItems(), id(traces, 7), "round");
  }

  @Test
  void shouldTraceEachMemberAloneWhenTheStrategyHasNoRounds() {
    RoundTraces traces = RoundTraces.export(vertx, job("async"), telemetry(), 1);
    traces.take(sent("worker 0", 7, "compute"), 0);
    traces.take(sent("server 0", 7, "apply partition 0 of worker 1"), 0);
    traces.close();

    assertNotEquals(traces.traceId("worker 0", 7), traces.traceId("server 0", 7));
    assertEquals(6, exported.getFinishedSpanItems().size());
    named(exported.getFinishedSpanItems(), id(traces, 7), "step of worker 0");
  }

  @Test
  void shouldRefuseAJobWhoseMembersRecordNothing() {
    JobConfig job = JobConfig.read("test", new JsonObject().put("job", "untimed"));

    String why =
        assertThrows(
                IllegalArgumentException.class,
                () -> RoundTraces.export(vertx, job, OpenTelemetry.noop(), 1))
            .getMessage();

    assertTrue(why.startsWith("job \"untimed\": timeline is false, expected true"), why);
  }

  private static String id(RoundTraces traces, long step) {
    return traces.traceId("worker 0", step).orElseThrow();
  }

  private static SpanData named(List<SpanData> spans, String trace, String name) {
    return spans.stream()
        .filter(span -> span.getTraceId().equals(trace) && span.getName().equals(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is not in " + spans));
  }

  private static JobConfig job(String strategy) {
    return JobConfig.read(
        "test",
        new JsonObject()
            .put("job", "traced")
            .put("timeline", true)
            .put("strategy", new JsonObject().put("name", strategy)));
  }

  private OpenTelemetry telemetry() {
    return OpenTelemetrySdk.builder()
        .setTracerProvider(
            SdkTracerProvider.builder()
                .addSpanProcessor(SimpleSpanProcessor.create(exported))
                .build())
        .build();
  }

  /** Returns the message of a member with spans of 100 microseconds that follow each other. */
  private static JsonObject sent(String member, long step, String... names) {
    JsonArray rows = new JsonArray();
    for (int i = 0; i < names.length; i++) {
      rows.add(i).add(BEGIN + 1_000 * step + 100 * i).add(100).add(step);
    }
    return new JsonObject()
        .put("names", new JsonArray(List.of(names)))
        .put("spans", rows)
        .put("dropped", 0)
        .put("member", member)
        .put("node", "a pid 1");
  }
}
