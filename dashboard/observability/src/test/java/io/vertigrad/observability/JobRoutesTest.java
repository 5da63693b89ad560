package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests what Prometheus and probes read about a job. */
final class JobRoutesTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final String LOCAL = "scope=\"local\"";
  private static final Path DOCUMENT = Path.of("../../docs/reference/metrics.md");

  private Vertx vertx;
  private HttpClient client;
  private EventPublisher events;
  private int port;

  @BeforeEach
  void deploy() throws Exception {
    vertx = Vertx.builder().withMetrics(BusTraffic.counting()).build();
    client = vertx.createHttpClient();
    JsonObject job =
        new JsonObject()
            .put("job", "probed")
            .put("workers", new JsonObject().put("count", 2).put("minimum", 2));
    Router router = Router.router(vertx);
    new JobRoutes(vertx, JobConfig.read("test", job)).mount(router);
    port = await(vertx.createHttpServer().requestHandler(router).listen(0)).actualPort();
    events = new EventPublisher(vertx, new Addresses("probed"));
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldCountBusTrafficWithoutNamingAddresses() {
    vertx.eventBus().consumer("echo", message -> message.reply(message.body()));
    double sent = value("vertigrad_bus_sent_total", LOCAL);
    double received = value("vertigrad_bus_received_total", LOCAL);
    double handlers = value("vertigrad_bus_handlers");
    long series = metrics().lines().filter(line -> line.startsWith("vertigrad_bus_")).count();

    for (int i = 0; i < 100; i++) {
      await(vertx.eventBus().request("echo", "word " + i));
    }
    vertx.eventBus().request("nobody", "is there");

    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> value("vertigrad_bus_reply_failures_total", "failure=\"no_handlers\"") == 1);
    // The two counters count requests and their answers; the metrics verticle also publishes a few
    // times a second.
    assertEquals(200, value("vertigrad_bus_sent_total", LOCAL) - sent, 50);
    assertEquals(200, value("vertigrad_bus_received_total", LOCAL) - received, 50);
    assertEquals(0, value("vertigrad_bus_sent_total", "scope=\"remote\""));
    assertEquals(handlers, value("vertigrad_bus_handlers"), "every request's handler is gone");
    Awaitility.await().atMost(LIMIT).until(() -> value("vertigrad_bus_pending") == 0);
    assertEquals(
        series, metrics().lines().filter(line -> line.startsWith("vertigrad_bus_")).count());
  }

  @Test
  @Tag("slow")
  void shouldExportTheReportsOfMembersToPrometheus() {
    publish(beginning());
    publish(
        List.of(
            progress(0),
            new ServerProgress(5, 0, 0, 40, 10_240, 80, 3, 2, 1, 4),
            new MemberVitals(
                6,
                Role.WORKER,
                0,
                0,
                "n",
                new Vitals(
                    Map.of(
                        Vital.CORES,
                        1.5,
                        Vital.PROCESSORS,
                        8.0,
                        Vital.HEAP,
                        111.0,
                        Vital.HEAP_LIMIT,
                        222.0,
                        Vital.OFF_HEAP,
                        333.0,
                        Vital.RESIDENT,
                        444.0,
                        Vital.BUSY_GPUS,
                        0.75,
                        Vital.GPU_MEMORY,
                        555.0,
                        Vital.ROUND_TRIP_MEDIAN,
                        0.5,
                        Vital.ROUND_TRIP_99,
                        2.5),
                    20_600,
                    Map.of(500, 2L, 20_000, 1L))),
            new Evaluated(7, 39, 500, 0.25, 91.5, false, "00")));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("test_accuracy_ratio{job_"));
    Awaitility.await().atMost(LIMIT).until(() -> value("vertigrad_job_tested_version") == 39);

    assertEquals(0.915, value("vertigrad_job_test_accuracy_ratio"), 1e-12);
    assertEquals(1, value("vertigrad_job_phase", "phase=\"running\""));
    assertEquals(0, value("vertigrad_job_phase", "phase=\"waiting\""));
    assertEquals(5_120, value("vertigrad_worker_samples_total", "rank=\"0\""));
    assertEquals(1.5, value("vertigrad_worker_computing_seconds_total", "rank=\"0\""));
    assertEquals(2_000, value("vertigrad_worker_received_bytes_total", "rank=\"0\""));
    assertEquals(40, value("vertigrad_worker_gradients_applied_total", "rank=\"0\""));
    assertEquals(10 * 1 + 5 * 3, value("vertigrad_worker_staleness_total", "rank=\"0\""));
    assertEquals(3, value("vertigrad_server_updates_total", "outcome=\"late\""));
    assertEquals(1, value("vertigrad_server_updates_total", "outcome=\"too_stale\""));
    assertEquals(
        333, value("vertigrad_member_off_heap_used_bytes", "role=\"worker\"", "rank=\"0\""));
    assertEquals(0.75, value("vertigrad_member_gpus_busy", "role=\"worker\"", "rank=\"0\""));
    assertEquals(555, value("vertigrad_member_gpu_used_bytes", "role=\"worker\"", "rank=\"0\""));
    String[] trips = {"role=\"worker\"", "rank=\"0\""};
    assertEquals(3, value("vertigrad_member_round_trip_seconds_count", trips));
    assertEquals(0.0206, value("vertigrad_member_round_trip_seconds_sum", trips), 1e-8);
    assertEquals(
        2,
        value("vertigrad_member_round_trip_seconds_bucket", trips[0], trips[1], "le=\"5.0E-4\""));
    assertEquals(
        2, value("vertigrad_member_round_trip_seconds_bucket", trips[0], trips[1], "le=\"0.01\""));
    assertEquals(
        3, value("vertigrad_member_round_trip_seconds_bucket", trips[0], trips[1], "le=\"0.02\""));
    assertEquals(40, value("vertigrad_worker_step_seconds_count", "rank=\"0\""));
    assertEquals(1.85, value("vertigrad_worker_step_seconds_sum", "rank=\"0\""), 1e-6);
    assertTrue(
        values("jvm_memory_used_bytes", "area=\"heap\"").sum() > 0, "of all the heap's pools");
  }

  @Test
  @Tag("slow")
  void shouldNeverLowerACounterAndDropVitalsOfADeadProcess() {
    publish(beginning());
    publish(
        List.of(
            progress(0),
            new ServerProgress(5, 0, 0, 40, 10_240, 80, 3, 2, 1, 4),
            new MemberVitals(
                6,
                Role.WORKER,
                0,
                0,
                "n",
                new Vitals(Map.of(Vital.CORES, 1.5, Vital.HEAP, 111.0), 0, Map.of()))));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("vertigrad_worker_version{"));
    String[] worker = {"role=\"worker\"", "rank=\"0\""};
    assertEquals(1.5, value("vertigrad_member_cpu_cores", worker));

    publish(
        List.of(
            new MemberLeft(9, Role.WORKER, 0, 0, "its process ended"),
            new MemberLeft(9, Role.SERVER, 0, 0, "its process ended")));
    Awaitility.await().atMost(LIMIT).until(() -> value("vertigrad_member_up", worker) == 0);
    for (String vital : List.of("vertigrad_member_cpu_cores", "vertigrad_member_resident_bytes")) {
      assertEquals(Double.NaN, value(vital, worker), vital);
    }
    publish(
        List.of(
            new MemberJoined(10, Role.WORKER, 0, 1, "n", ""),
            new MemberJoined(10, Role.SERVER, 0, 1, "n", "")));
    Awaitility.await().atMost(LIMIT).until(() -> value("vertigrad_member_up", worker) == 1);
    assertEquals(5_120, value("vertigrad_worker_samples_total", "rank=\"0\""));
    assertEquals(25, value("vertigrad_worker_staleness_total", "rank=\"0\""));
    assertEquals(3, value("vertigrad_server_updates_total", "outcome=\"late\""));

    publish(List.of(progress(0, 1), new ServerProgress(11, 0, 1, 50, 1, 10, 1, 0, 0, 0)));
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> value("vertigrad_worker_samples_total", "rank=\"0\"") == 10_240);
    assertEquals(80, value("vertigrad_worker_gradients_applied_total", "rank=\"0\""));
    assertEquals(90, value("vertigrad_server_updates_total", "outcome=\"applied\""));
    assertEquals(4, value("vertigrad_server_updates_total", "outcome=\"late\""));
  }

  /** Prometheus takes a lower value for a counter that began at 0 again, and adds all of it. */
  @Test
  @Tag("slow")
  void shouldBeginCountersAtZeroInTheProcessThatResumesARun() {
    publish(
        List.of(
            new MemberJoined(1, Role.SERVER, 0, 10_000, "n", ""),
            new MemberJoined(1, Role.WORKER, 0, 10_000, "n", ""),
            new JobStarted(2, "async", 1, 1, 1_960, 60, 60),
            progress(0, 10_000),
            new ServerProgress(5, 0, 10_000, 40, 10_240, 80, 3, 2, 1, 4)));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("vertigrad_server_version{"));
    Awaitility.await().atMost(LIMIT).until(() -> value("vertigrad_job_version") == 40);

    for (String counter :
        names("(?m)^(vertigrad_(?:job|worker|server)_\\w+_total)\\{", metrics())) {
      assertEquals(0, values(counter).sum(), counter);
    }

    publish(
        List.of(progress(0, 10_001), new ServerProgress(9, 0, 10_000, 41, 10_300, 90, 3, 2, 1, 4)));
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> value("vertigrad_server_updates_total", "outcome=\"applied\"") == 10);
    assertEquals(5_120, value("vertigrad_worker_samples_total", "rank=\"0\""));
    assertEquals(5_120, value("vertigrad_job_samples_total"));
    assertEquals(0, value("vertigrad_worker_steps_total", "rank=\"0\""), "repeated steps");
  }

  @Test
  void shouldAnswerOpenMetricsWhenAskedForThem() {
    HttpClientResponse answer =
        get(
            "/metrics",
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5");
    String body = await(answer.body()).toString();

    assertTrue(
        answer.getHeader("Content-Type").startsWith("application/openmetrics-text; version=1.0.0"),
        answer.getHeader("Content-Type"));
    assertTrue(body.endsWith("# EOF\n"), body);
    assertTrue(body.contains("# TYPE vertigrad_job_samples counter\n"), body);
    assertTrue(body.contains("vertigrad_job_samples_total{job_name=\"probed\"} 0.0\n"), body);
    assertTrue(get("/metrics").getHeader("Content-Type").startsWith("text/plain; version=0.0.4"));
  }

  @Test
  void shouldDocumentEveryNameThatItExports() throws IOException {
    publish(beginning());
    publish(
        List.of(
            progress(0),
            new ServerProgress(5, 0, 0, 1, 1, 1, 0, 0, 0, 0),
            new ScalarReported(6, "worker 0", "norm", 1, 0.5, 1, 0)));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("vertigrad_server_version{"));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("vertigrad_worker_version{"));
    Awaitility.await().atMost(LIMIT).until(() -> metrics().contains("vertigrad_scalar{"));

    assertEquals(
        names("`(vertigrad_\\w+)`", Files.readString(DOCUMENT)),
        names("(?m)^# TYPE (vertigrad_\\w+?)(?:_max)? ", metrics()));
  }

  @Test
  @Tag("slow")
  void shouldBeReadyOnlyWhileTheJobRunsWithEnoughWorkers() {
    assertEquals(200, get("/health/live").statusCode());
    assertEquals(503, get("/health/ready").statusCode());
    assertEquals(503, get("/health").statusCode());

    publish(beginning());
    Awaitility.await().atMost(LIMIT).until(() -> get("/health/ready").statusCode() == 200);
    assertEquals(200, get("/health").statusCode());
    for (String check : List.of("answers", "job", "members", "cluster")) {
      assertTrue(body("/health").contains("\"id\":\"" + check + "\""), body("/health"));
    }
    publish(List.of(new JobPaused(8)));
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> value("vertigrad_job_phase", "phase=\"paused\"") == 1);
    assertEquals(200, get("/health/ready").statusCode(), "a paused job can go on");
    publish(List.of(new MemberLeft(9, Role.WORKER, 1, 0, "silent for 10000 ms")));
    Awaitility.await().atMost(LIMIT).until(() -> get("/health/ready").statusCode() == 503);

    JsonObject health = new JsonObject(body("/health/ready"));
    assertEquals("DOWN", health.getString("outcome"));
    assertTrue(health.encode().contains("\"workers\":1,\"workersMinimum\":2"), health::encode);
    assertEquals(200, get("/health/live").statusCode());
  }

  private static List<TrainingEvent> beginning() {
    return List.of(
        new MemberJoined(1, Role.SERVER, 0, 0, "n", ""),
        new MemberJoined(1, Role.WORKER, 0, 0, "n", ""),
        new MemberJoined(1, Role.WORKER, 1, 0, "n", ""),
        new JobStarted(2, "async", 2, 1, 1_960, 60, 60));
  }

  private static WorkerProgress progress(int rank) {
    return progress(rank, 0);
  }

  private static WorkerProgress progress(int rank, int incarnation) {
    Map<Integer, Long> staleness = Map.of(0, 25L, 1, 10L, 3, 5L);
    return new WorkerProgress(
        4,
        rank,
        incarnation,
        40,
        40,
        0,
        5_120,
        0.5,
        Double.NaN,
        1.5,
        0.25,
        0.1,
        1_000,
        500,
        2_000,
        staleness,
        Map.of(),
        Map.of());
  }

  private void publish(List<TrainingEvent> all) {
    all.forEach(events::publish);
  }

  private double value(String name, String... labels) {
    return values(name, labels)
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + List.of(labels) + " is missing"));
  }

  private DoubleStream values(String name, String... labels) {
    return metrics()
        .lines()
        .filter(
            line ->
                line.startsWith(name + "{") && List.of(labels).stream().allMatch(line::contains))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)));
  }

  private static Set<String> names(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map(match -> match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private String metrics() {
    return body("/metrics");
  }

  private String body(String path) {
    return await(get(path).body().map(Buffer::toString));
  }

  private HttpClientResponse get(String path) {
    return get(path, "*/*");
  }

  private HttpClientResponse get(String path, String accepted) {
    return await(
        client
            .request(HttpMethod.GET, port, "127.0.0.1", path)
            .compose(
                request ->
                    request
                        .putHeader("Accept", accepted)
                        .send()
                        .compose(answer -> answer.body().map(answer))));
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
