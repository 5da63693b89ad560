package io.vertigrad.launcher.tracking;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class MlflowTrackerTest {

  private static final Duration LIMIT = Duration.ofSeconds(20);

  @TempDir private Path folder;

  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final List<String> problems = new CopyOnWriteArrayList<>();
  private HttpServer server;
  private Path run;
  private volatile int status = 200;
  private volatile boolean experimentExists;
  private volatile boolean silent;

  private record Request(String method, String path, JsonObject body) {}

  @BeforeEach
  void start() throws IOException {
    run = Files.createDirectory(folder.resolve("20261123-digits"));
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task);
              thread.setDaemon(true);
              return thread;
            }));
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void shouldReportExperimentRunParametersAndPoints() {
    MlflowTracker tracker = tracker("{\"seed\": 7, \"optimizer\": {\"learningRate\": 0.5}}");

    tracker.add(points(0, 2_500));
    tracker.end(Tracker.End.FINISHED);

    assertEquals(
        "/api/2.0/mlflow/experiments/get-by-name?experiment_name=vertigrad",
        requests.get(0).path());
    assertEquals("vertigrad", of("experiments/create").get(0).getString("name"));
    JsonObject begun = of("runs/create").get(0);
    assertEquals("17", begun.getString("experiment_id"));
    assertEquals("20261123-digits", begun.getString("run_name"));
    List<JsonObject> batches = of("runs/log-batch");
    List<String> parameters = new ArrayList<>();
    List<JsonObject> metrics = new ArrayList<>();
    for (JsonObject batch : batches) {
      assertEquals("r-1", batch.getString("run_id"));
      assertTrue(batch.getJsonArray("params", new JsonArray()).size() <= 100);
      assertTrue(batch.getJsonArray("metrics", new JsonArray()).size() <= 1_000);
      batch
          .getJsonArray("params", new JsonArray())
          .forEach(p -> parameters.add(((JsonObject) p).getString("key")));
      batch
          .getJsonArray("metrics", new JsonArray())
          .forEach(metric -> metrics.add((JsonObject) metric));
    }
    assertTrue(parameters.containsAll(List.of("seed", "optimizer.learningRate", "workers.count")));
    assertTrue(parameters.stream().noneMatch(key -> key.startsWith("cluster.")), "" + parameters);
    assertEquals(2_500, metrics.size());
    assertEquals(
        new JsonObject("{\"key\":\"test/loss\",\"value\":3.5,\"timestamp\":1003,\"step\":3}"),
        metrics.get(3));
    JsonObject ended = of("runs/update").get(0);
    assertEquals("FINISHED", ended.getString("status"));
    assertTrue(ended.getLong("end_time") > 0);
    assertEquals(List.of(), problems);
  }

  @Test
  void shouldContinueTheTrackedRunWhenTrainingIsResumed() {
    experimentExists = true;
    tracker("{}").end(Tracker.End.STOPPED);

    MlflowTracker resumed = tracker("{}");
    resumed.add(points(5, 6));
    resumed.end(Tracker.End.FINISHED);

    assertEquals(0, of("experiments/create").size());
    assertEquals(1, of("runs/create").size());
    assertEquals(
        List.of("KILLED", "RUNNING", "FINISHED"),
        of("runs/update").stream().map(update -> update.getString("status")).toList());
    assertEquals("r-1", of("runs/log-batch").get(1).getString("run_id"));
  }

  @Test
  void shouldRepeatNoPointWhenAKilledRunIsResumed() {
    tracker("{}").add(points(0, 6));
    Path noted = run.resolve("mlflow.json");
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> Files.exists(noted) && Files.readString(noted).contains("\"step\" : 5"));

    MlflowTracker resumed = tracker("{}");
    resumed.add(points(3, 6));
    resumed.add(points(6, 8));
    resumed.end(Tracker.End.FINISHED);

    List<Long> steps = new ArrayList<>();
    of("runs/log-batch").stream()
        .flatMap(batch -> batch.getJsonArray("metrics", new JsonArray()).stream())
        .forEach(metric -> steps.add(((JsonObject) metric).getLong("step")));
    assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L), steps);
  }

  @Test
  void shouldWarnOnceAndReportEverythingWhenTheServerReturns() {
    status = 503;
    MlflowTracker tracker = tracker("{}");
    tracker.add(points(0, 3));
    Awaitility.await().atMost(LIMIT).until(() -> requests.size() > 2);

    status = 200;
    Awaitility.await().atMost(LIMIT).until(() -> of("runs/log-batch").size() > 1);
    tracker.end(Tracker.End.FINISHED);

    assertEquals(1, problems.size(), problems.toString());
    assertTrue(
        problems
            .get(0)
            .matches(
                "MLflow \\(tracking.mlflow\\): http://127.0.0.1:\\d+ answers 503 to"
                    + " /api/2.0/mlflow/experiments/get-by-name: .*; it is asked again until the"
                    + " run is over; training goes on"),
        problems.get(0));
    assertEquals("FINISHED", of("runs/update").get(0).getString("status"));
  }

  @Test
  void shouldStopAskingWhenTheServerRefuses() {
    status = 403;
    MlflowTracker tracker = tracker("{}");
    Awaitility.await().atMost(LIMIT).until(() -> !problems.isEmpty());

    tracker.add(points(0, 3));
    tracker.end(Tracker.End.FINISHED);

    assertEquals(1, requests.size());
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("nothing more is told to it"), problems.get(0));
  }

  @Test
  void shouldNeverDelayTheRunWhenTheServerIsUnreachable() {
    silent = true;
    MlflowTracker tracker = tracker("{}");

    long begun = System.nanoTime();
    for (int i = 0; i < 1_000; i++) {
      tracker.add(points(i * 100, i * 100 + 100));
    }
    long added = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    tracker.end(Tracker.End.FINISHED);
    long ended = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);

    assertTrue(added < 2_000, added + " ms for 100,000 points");
    assertTrue(ended < added + MlflowTracker.CLOSE_SECONDS * 1_000 + 3_000, ended + " ms");
    assertEquals(1, problems.size(), problems.toString());
  }

  private MlflowTracker tracker(String job) {
    URI address = URI.create("http://127.0.0.1:%d/".formatted(server.getAddress().getPort()));
    JobConfig config = JobConfig.read("test", new JsonObject(job));
    return new MlflowTracker(address, config, run, problems::add, 50);
  }

  private static List<Metric> points(int from, int to) {
    List<Metric> points = new ArrayList<>();
    for (int i = from; i < to; i++) {
      points.add(new Metric("test/loss", i, 1_000 + i, i + 0.5));
    }
    return points;
  }

  private List<JsonObject> of(String path) {
    return requests.stream()
        .filter(request -> request.path().equals("/api/2.0/mlflow/" + path))
        .map(Request::body)
        .toList();
  }

  /** Answers a request as MLflow does. */
  private void answer(HttpExchange exchange) throws IOException {
    String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    String path = exchange.getRequestURI().toString();
    if (silent) {
      return;
    }
    int code = status;
    JsonObject answer = new JsonObject();
    if (code != 200) {
      answer.put("error_code", "INTERNAL_ERROR").put("message", "not now");
    } else if (path.contains("get-by-name") && !experimentExists) {
      code = 404;
      answer.put("error_code", "RESOURCE_DOES_NOT_EXIST").put("message", "none of that name");
    } else if (path.contains("get-by-name")) {
      answer.put("experiment", new JsonObject().put("experiment_id", "17"));
    } else if (path.endsWith("experiments/create")) {
      answer.put("experiment_id", "17");
    } else if (path.endsWith("runs/create")) {
      answer.put("run", new JsonObject().put("info", new JsonObject().put("run_id", "r-1")));
    }
    requests.add(
        new Request(
            exchange.getRequestMethod(), path, text.isEmpty() ? null : new JsonObject(text)));
    byte[] body = answer.encode().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(code, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
