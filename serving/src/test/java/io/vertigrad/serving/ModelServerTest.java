package io.vertigrad.serving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.ModelServer.Candidate;
import io.vertigrad.serving.ModelServer.TestResult;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Asks a server with two models and tokens as clients in other languages do. */
@Tag("slow")
@Timeout(180)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ModelServerTest {

  private static final String READER = "reader-0123456789abcdef";
  private static final String ADMIN = "admin-0123456789abcdef";

  /** Asks in Python while models change; prints answers by model, version and class. */
  private static final String CLIENT =
      """
      import json, sys, urllib.request
      root, token, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
      body = json.dumps({"inputs": [{"name": "input", "datatype": "FP32",
                                     "shape": [1, 4], "data": [0.5, 0.1, 0.2, 0.9]}]}).encode()
      seen = {}
      for i in range(count):
          request = urllib.request.Request(root + "/v2/models/points/infer", body,
              {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
          with urllib.request.urlopen(request, timeout=20) as answer:
              found = json.load(answer)
          seen.setdefault(found["model_version"], set()).add(json.dumps(found["outputs"]))
      print(json.dumps({version: len(outputs) for version, outputs in seen.items()}))
      """;

  private final Vertx vertx = Vertx.vertx();
  private final List<Candidate> points = new CopyOnWriteArrayList<>();
  private final List<String> notices = new CopyOnWriteArrayList<>();
  private Path folder;
  private ModelServer server;

  @BeforeAll
  void serve(@TempDir Path created) throws Exception {
    folder = created;
    points.add(trained("points", "first", 20, 0.9));
    Candidate other = trained("other", "second", 5, 0.8);
    JobConfig where = JobConfig.read("test", JsonObject.of("serving", JsonObject.of("port", 0)));
    server =
        get(
            ModelServer.open(
                vertx,
                where.serving().http(),
                List.of(source(true, points), source(false, List.of(other))),
                Optional.of("# team\n" + READER + "\nadmin " + ADMIN),
                notices::add));
  }

  @AfterAll
  void close() throws Exception {
    get(server.close());
    get(vertx.close());
  }

  @Test
  void shouldAskForATokenExceptForHealthWhenItHasTokens() throws Exception {
    for (String path : List.of("/v2/health/live", "/v2/health/ready")) {
      assertTrue(raw("GET", path, "").startsWith("HTTP/1.1 200 "), path);
    }
    for (String path :
        List.of(
            "/v2",
            "/v2/models/points",
            "/v2/models/points/ready",
            "/v2/health/nothing",
            "/v2/nothing",
            "/")) {
      for (String header :
          List.of("", "Authorization: Bearer x\r\n", "Authorization: " + READER + "\r\n")) {
        String answer = raw("GET", path, header);
        assertTrue(answer.startsWith("HTTP/1.1 401 "), path + answer);
        assertTrue(answer.contains("WWW-Authenticate: Bearer"), answer);
      }
    }
    assertTrue(raw("GET", "/v2/models/points", bearer(READER)).startsWith("HTTP/1.1 200 "));
    assertTrue(raw("POST", "/v2/models/points/infer", "").startsWith("HTTP/1.1 401 "));
  }

  @Test
  void shouldAnswerWithEachModelAndNameThemWhenOneIsUnknown() throws Exception {
    assertEquals("other", json("GET", "/v2/models/other", 200).getString("name"));
    assertTrue(json("GET", "/v2", 200).getJsonArray("extensions").contains("model_repository"));
    JsonObject about = json("GET", "/v2/models/other", 200).getJsonObject("parameters");
    assertEquals(0.8, about.getDouble("test_loss"));
    assertEquals("test loss 0.8000 on 10 samples", about.getString("reason"));
    assertEquals(
        "model \"x\" is not served here, expected one of \"points\", \"other\"",
        json("GET", "/v2/models/x", 404).getString("error"));
    assertEquals(
        "model \"other\": version 7 is not served, expected 5",
        json("GET", "/v2/models/other/versions/7", 404).getString("error"));
    assertEquals(200, code("GET", "/v2/models/other/versions/5/ready", READER, ""));
  }

  @Test
  void shouldManageModelsOnlyForAnAdminWhenItIsCalled() throws Exception {
    String load = "/v2/repository/models/other/load";
    String unload = "/v2/repository/models/other/unload";
    assertEquals(403, code("POST", unload, READER, ""));
    assertEquals(405, code("GET", unload, ADMIN, ""));
    assertEquals(404, code("POST", "/v2/repository/models/other/drop", ADMIN, ""));
    assertEquals(404, code("POST", "/v2/repository/models/..%2F..%2Fetc/load", ADMIN, ""));
    assertEquals(400, code("POST", load, ADMIN, "{\"parameters\":{\"config\":\"{}\"}}"));
    assertEquals(400, code("POST", load, ADMIN, "[]"));
    assertEquals(200, code("POST", unload, ADMIN, "{\"parameters\":{\"unload_dependents\":true}}"));
    assertEquals(503, code("GET", "/v2/models/other/ready", READER, ""));
    assertEquals(200, code("GET", "/v2/health/ready", READER, ""));
    assertEquals(List.of("points"), index("{\"ready\":true}"));
    assertEquals(List.of("points", "other"), index(""));
    assertEquals(200, code("POST", load, ADMIN, ""));
    assertEquals(200, code("GET", "/v2/models/other/ready", READER, ""));
  }

  @Test
  void shouldAnswerEveryRequestWithOneVersionWhenModelsAreReplacedMeanwhile() throws Exception {
    assumeTrue(isInstalled("python3"), "python3 is not installed");
    Path script = Files.writeString(folder.resolve("client.py"), CLIENT);
    Path output = folder.resolve("client.txt");
    Process client =
        new ProcessBuilder("python3", script.toString(), server.address(), READER, "400")
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    abortRequests();
    points.add(trained("points", "better", 60, 0.5));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(
            () -> notices.stream().anyMatch(line -> line.contains("from better answers instead")));
    Awaitility.await().atMost(60, TimeUnit.SECONDS).until(() -> predictorsOfPoints() == 1);
    Path damaged = Files.writeString(folder.resolve("damaged.zip"), "no model");
    points.add(
        new Candidate("points", "damaged", points.get(0).job(), damaged, Optional.of(result(0.1))));
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> notices.stream().anyMatch(line -> line.contains("damaged cannot be loaded")));

    boolean ended = client.waitFor(60, TimeUnit.SECONDS);
    client.destroyForcibly();

    String printed = Files.readString(output);
    assertTrue(ended && client.exitValue() == 0, printed);
    new JsonObject(printed).forEach(each -> assertEquals(1, each.getValue(), printed));
    assertEquals(
        "test loss 0.5000 on 10 samples, the lowest of 2 models",
        json("GET", "/v2/models/points", 200).getJsonObject("parameters").getString("reason"));
  }

  /** Begins requests of every kind, and closes their connections. */
  private void abortRequests() throws IOException {
    String head = "POST /v2/models/points/infer HTTP/1.1\r\nHost: localhost\r\n" + bearer(READER);
    String whole = head + "Content-Length: 2\r\n\r\n{}";
    for (String sent :
        List.of(head, head + "Content-Length: 9\r\n\r\n{", whole, whole.repeat(20), whole + head)) {
      try (Socket socket = new Socket("127.0.0.1", URI.create(server.address()).getPort())) {
        socket.setSoLinger(true, 0);
        socket.getOutputStream().write(sent.getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  /** Returns how many versions of the model have a thread: those that are not closed. */
  private static long predictorsOfPoints() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().endsWith(" of points"))
        .count();
  }

  private static ModelServer.Source source(boolean isFolder, List<Candidate> models) {
    return new ModelServer.Source() {
      @Override
      public String text() {
        return models.get(0).origin();
      }

      @Override
      public boolean isFolder() {
        return isFolder;
      }

      @Override
      public List<Candidate> find() {
        return List.copyOf(models);
      }
    };
  }

  private static TestResult result(double loss) {
    return new TestResult(loss, 10, "points");
  }

  /** Trains a model of four inputs, and moves it to its place at once, as a run does. */
  private Candidate trained(String name, String origin, int steps, double loss) throws Exception {
    List<String> lines = new ArrayList<>(List.of("a,b,c,d,kind"));
    for (int i = 0; i < 100; i++) {
      lines.add("%d,%d,%d,%d,%s".formatted(i % 3, i % 5, i % 7, i % 2, i % 2 == 0 ? "x" : "y"));
    }
    Path csv = Files.write(folder.resolve("points.csv"), lines);
    JsonObject json =
        new JsonObject()
            .put("job", name)
            .put("data", JsonObject.of("name", "csv", "directory", csv.toString(), "label", "kind"))
            .put("model", JsonObject.of("name", "mlp", "hidden", 8))
            .put("workers", JsonObject.of("count", 1, "batch", 16))
            .put("steps", steps);
    RunningJob running = get(TrainingJob.of(json.copy().put("job", origin)).deploy(vertx));
    get(running.result());
    Path unfinished = folder.resolve(origin + ".part");
    get(running.saveModel(unfinished));
    Path run = Files.createDirectories(folder.resolve(origin));
    Files.writeString(run.resolve("summary.json"), JsonObject.of("version", steps).encode());
    Path file = Files.move(unfinished, run.resolve("model.zip"), StandardCopyOption.ATOMIC_MOVE);
    return new Candidate(name, origin, JobConfig.read(name, json), file, Optional.of(result(loss)));
  }

  private List<String> index(String body) throws Exception {
    String answer = answer("POST", "/v2/repository/index", READER, body);
    return new JsonArray(answer.substring(answer.indexOf("\r\n\r\n") + 4))
        .stream().map(each -> ((JsonObject) each).getString("name")).toList();
  }

  private JsonObject json(String method, String path, int status) throws Exception {
    String answer = answer(method, path, READER, "");
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
    return new JsonObject(answer.substring(answer.indexOf("\r\n\r\n") + 4));
  }

  private int code(String method, String path, String token, String body) throws Exception {
    return Integer.parseInt(answer(method, path, token, body).split(" ")[1]);
  }

  private String answer(String method, String path, String token, String body) throws Exception {
    return raw(method, path, bearer(token) + "Content-Length: " + body.length() + "\r\n", body);
  }

  private static String bearer(String token) {
    return "Authorization: Bearer " + token + "\r\n";
  }

  private String raw(String method, String path, String headers) throws IOException {
    return raw(method, path, headers, "");
  }

  private String raw(String method, String path, String headers, String body) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", URI.create(server.address()).getPort())) {
      socket.setSoTimeout(30_000);
      String head = "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n";
      socket
          .getOutputStream()
          .write((head.formatted(method, path, headers) + body).getBytes(StandardCharsets.UTF_8));
      InputStream in = socket.getInputStream();
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static boolean isInstalled(String program) {
    try {
      Process asked = new ProcessBuilder(program, "--version").start();
      return asked.waitFor(20, TimeUnit.SECONDS) && asked.exitValue() == 0;
    } catch (IOException | InterruptedException absent) {
      return false;
    }
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(90, TimeUnit.SECONDS);
  }
}
