package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketConnectOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.junit5.VertxExtension;
import java.io.File;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(VertxExtension.class)
final class RunsVerticleTest {

  private final Runs runs = new Runs();
  private final List<MultiMap> asked = new CopyOnWriteArrayList<>();
  private HttpClient client;
  private String inner;
  private int port;

  /** One run, named {@code a b}; any other is unknown. */
  private static final class Runs implements RunsVerticle.Source {

    private final Set<String> threads = ConcurrentHashMap.newKeySet();
    private final Set<String> reading = ConcurrentHashMap.newKeySet();
    private final List<JsonObject> changes = new CopyOnWriteArrayList<>();

    @Override
    public Buffer list() {
      threads.add(Thread.currentThread().getName());
      return Buffer.buffer("{\"folder\":\"runs\",\"runs\":[]}");
    }

    @Override
    public Buffer curves(String name, BooleanSupplier gone) {
      threads.add(Thread.currentThread().getName());
      if (name.equals("endless")) {
        reading.add(name);
        Awaitility.await().until(gone::getAsBoolean);
        reading.remove(name);
      }
      return JsonObject.of("name", name).toBuffer();
    }

    @Override
    public Buffer csv(boolean archived) {
      return Buffer.buffer("run,archived\r\na b," + archived + "\r\n");
    }

    @Override
    public JsonObject delete(String name) {
      if (name.equals("kept")) {
        throw new IllegalStateException("it is kept");
      }
      changes.add(JsonObject.of("deleted", name));
      return JsonObject.of("bytes", 5);
    }

    @Override
    public JsonObject annotate(String name, JsonObject change) {
      threads.add(Thread.currentThread().getName());
      if (!name.equals("a b")) {
        throw new NoSuchElementException("there is no run " + name);
      }
      if (!change.containsKey("note")) {
        throw new IllegalArgumentException("expected a note");
      }
      changes.add(change);
      return change;
    }
  }

  @BeforeEach
  void deploy(Vertx vertx) throws Exception {
    client = vertx.createHttpClient();
    HttpServer run =
        await(vertx.createHttpServer().requestHandler(this::answer).listen(0, "127.0.0.1"));
    inner = "http://127.0.0.1:" + run.actualPort() + "/";
    RunsVerticle page =
        new RunsVerticle(
            new DashboardConfig(true, "127.0.0.1", 0, List.of("*.team.example"), List.of()),
            "/base",
            "5ec2e7",
            runs,
            (name, fresh, gone) -> find(name));
    await(vertx.deployVerticle(page));
    port = URI.create(page.url()).getPort();
  }

  private Future<String> find(String name) {
    return switch (name) {
      case "a b" -> Future.succeededFuture(inner);
      case "replay" -> Future.fromCompletionStage(CompletableFuture.supplyAsync(() -> inner));
      default -> Future.failedFuture(new NoSuchElementException("there is no run " + name));
    };
  }

  @Test
  void shouldKeepThePagesBelow340KiB() throws Exception {
    Path pages = Path.of("src", "main", "resources", "io", "vertigrad", "dashboard", "page");
    try (Stream<Path> files = Files.walk(pages)) {
      long bytes = files.map(Path::toFile).filter(File::isFile).mapToLong(File::length).sum();
      assertTrue(bytes < 340 << 10, "found %,d bytes".formatted(bytes));
    }
  }

  @Test
  void shouldListRunsAndReadCurvesOffTheEventLoop() throws Exception {
    Answer list = get("/runs");
    Answer curves = get("/curves?run=a%20b&run=c");

    assertEquals(200, list.status());
    assertEquals("application/json", list.headers().get("content-type"));
    assertEquals("{\"folder\":\"runs\",\"runs\":[]}", list.body());
    assertEquals("{\"runs\":[{\"name\":\"a b\"},{\"name\":\"c\"}]}", curves.body());
    assertTrue(
        runs.threads.stream().noneMatch(name -> name.contains("eventloop")),
        runs.threads.toString());
  }

  @Test
  void shouldEndTheReadingOfCurvesWhenTheBrowserIsGone() throws Exception {
    try (Socket browser = new Socket("127.0.0.1", port)) {
      browser
          .getOutputStream()
          .write("GET /curves?run=endless HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes());
      Awaitility.await().until(() -> !runs.reading.isEmpty());
    }

    Awaitility.await().until(runs.reading::isEmpty);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 17})
  void shouldExpectOneToSixteenRuns(int count) throws Exception {
    Answer refused = get("/curves?x=1" + "&run=a".repeat(count));

    assertEquals(400, refused.status());
    assertTrue(refused.refusal().endsWith("; found " + count), refused.body());
    assertEquals(200, get("/curves?x=1" + "&run=a".repeat(16)).status());
  }

  /**
   * Answers as the server of a run's page: sockets with what they send, others with the request.
   */
  private void answer(HttpServerRequest request) {
    asked.add(request.headers());
    if (request.headers().contains("Upgrade")) {
      request
          .toWebSocket()
          .onSuccess(socket -> socket.textMessageHandler(socket::writeTextMessage));
      return;
    }
    request
        .body()
        .onSuccess(
            body ->
                request
                    .response()
                    .putHeader("X-Inner", "yes")
                    .setStatusCode(202)
                    .end(request.method() + " " + request.uri() + " " + body));
  }

  @Test
  void shouldPassAllFilesOnWhenAnotherThreadFindsThePage(Vertx vertx) throws Exception {
    for (int i = 0; i < 3_000; i++) {
      if (i % 100 == 0) {
        // A connection that asks too often is closed.
        await(client.close());
        client = vertx.createHttpClient();
      }
      assertEquals("GET /" + i + " ", get("/run/replay/" + i).body());
    }
  }

  @Test
  void shouldLeadToThePageOfARun() throws Exception {
    Answer found = get("/run?name=a+b");

    assertEquals(302, found.status());
    assertEquals("run/a%20b/", found.headers().get("location"));
    assertEquals("./a%20b/", get("/run/a%20b").headers().get("location"));
    assertEquals(
        "./https:other.example/", get("/run/https:other.example").headers().get("location"));
    assertEquals("base/", get("/base").headers().get("location"));
    assertEquals(404, get("/run/..%2fetc/").status());
    assertEquals("there is no run ../etc", get("/run/..%2fetc/").refusal());
    assertEquals(400, get("/run").status());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/base"})
  void shouldAnswerAsTheServerOfARunsPage(String base) throws Exception {
    Map<String, String> headers =
        Map.of("Cookie", "of=others", "Authorization", "Basic eA==", "Accept-Encoding", "gzip");

    Answer page = call(HttpMethod.GET, base + "/run/a%20b/x/y%20z?q=1%202", headers, "");
    Answer posted = call(HttpMethod.POST, base + "/run/a%20b/drain", headers, "{\"a\": 1}");

    assertEquals("GET /x/y%20z?q=1%202 ", page.body());
    assertEquals(202, page.status());
    assertEquals("yes", page.headers().get("x-inner"));
    assertEquals("POST /drain {\"a\": 1}", posted.body());
    assertEquals(List.of(), asked.stream().filter(all -> all.contains("Cookie")).toList());
    assertEquals(List.of(), asked.stream().filter(all -> all.contains("Authorization")).toList());
    assertEquals(
        413,
        call(HttpMethod.POST, base + "/run/a%20b/drain", headers, "x".repeat(70_000)).status());
  }

  @Test
  void shouldFindTheRunWhenTheBasePathLooksLikeOne(Vertx vertx) throws Exception {
    RunsVerticle page =
        new RunsVerticle(
            new DashboardConfig(true, "127.0.0.1", 0, List.of(), List.of()),
            "/team/run",
            "5ec2e7",
            runs,
            (name, fresh, gone) -> Future.succeededFuture(inner));
    await(vertx.deployVerticle(page));
    port = URI.create(page.url()).getPort();

    assertEquals("GET /job ", get("/team/run/run/a%20b/job").body());
    assertEquals("GET /run/x ", get("/run/a%20b/run/x").body());
  }

  @Test
  void shouldPassSocketsOnInBothDirections(Vertx vertx) throws Exception {
    String large = "x".repeat(40_000);
    Promise<String> echoed = Promise.promise();
    Promise<Void> closed = Promise.promise();
    WebSocket socket =
        await(
            vertx
                .createWebSocketClient()
                .connect(
                    new WebSocketConnectOptions()
                        .setHost("127.0.0.1")
                        .setPort(port)
                        .setURI("/base/run/a%20b/eventbus/websocket")
                        .addHeader("Host", "runs.team.example")
                        .addHeader("Origin", "https://runs.team.example")));
    socket.textMessageHandler(echoed::tryComplete);
    socket.closeHandler(end -> closed.tryComplete());
    socket.writeTextMessage(large);

    assertEquals(large, await(echoed.future()));
    assertEquals(null, asked.get(0).get("Origin"));
    await(socket.close());
    await(closed.future());
    Answer foreign =
        call(
            HttpMethod.GET,
            "/run/a%20b/eventbus/websocket",
            Map.of("Origin", "https://evil.example", "Upgrade", "websocket"),
            "");
    assertEquals(403, foreign.status());
    assertTrue(foreign.body().contains("a proxy in between must pass the browser's Host on"));
  }

  @Test
  void shouldSayWhereThePageOfARunDoesNotAnswer() throws Exception {
    inner = "http://127.0.0.1:9/";

    Answer silent = get("/run/a%20b/");

    assertEquals(502, silent.status());
    assertTrue(
        silent.refusal().startsWith("the page of a b does not answer at http://127.0.0.1:9/: "),
        silent.body());
  }

  @Test
  void shouldGiveTheListAsCsv() throws Exception {
    Answer csv = get("/runs.csv");

    assertEquals("text/csv; charset=utf-8; header=present", csv.headers().get("content-type"));
    assertEquals("attachment; filename=\"runs.csv\"", csv.headers().get("content-disposition"));
    assertEquals("run,archived\r\na b,false\r\n", csv.body());
    assertEquals("run,archived\r\na b,true\r\n", get("/runs.csv?archived=true").body());
  }

  @Test
  void shouldDeleteWithTheRightTokenOnly() throws Exception {
    Answer refused = post("/delete", "{\"run\": \"a b\", \"token\": \"5ec2e\"}");
    Answer kept = post("/delete", "{\"run\": \"kept\", \"token\": \"5ec2e7\"}");

    assertEquals(403, refused.status());
    assertEquals(409, kept.status());
    assertEquals("it is kept", kept.refusal());
    assertEquals(List.of(), runs.changes);
    Answer deleted = post("/delete", "{\"run\": \"a b\", \"token\": \"5ec2e7\"}");
    assertEquals("{\"bytes\":5}", deleted.body());
    assertEquals(List.of(JsonObject.of("deleted", "a b")), runs.changes);
  }

  @Test
  void shouldPassNotesOnWithTheRightTokenOnly() throws Exception {
    Answer noted = note("{\"run\": \"a b\", \"token\": \"5ec2e7\", \"note\": \"x\"}");

    assertEquals(200, noted.status());
    assertEquals("{\"note\":\"x\"}", noted.body());
    assertEquals(List.of(JsonObject.of("note", "x")), runs.changes);
    for (String token : new String[] {"", "\"token\": \"5ec2e\",", "\"token\": 5,"}) {
      Answer refused = note("{\"run\": \"a b\", " + token + "\"note\": \"x\"}");
      assertEquals(403, refused.status(), token);
      assertTrue(refused.refusal().startsWith("wrong token: "), refused.body());
    }
    assertEquals(1, runs.changes.size());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "400; {\"run\": \"a b\", \"token\": \"5ec2e7\"}",
        "404; {\"run\": \"c\", \"token\": \"5ec2e7\", \"note\": \"x\"}",
        "400; {\"run\": 5, \"token\": \"5ec2e7\"}",
        "400; {\"run\"",
        "400; [1]",
        "400; 5"
      })
  void shouldRefuseWrongNotesInWords(int status, String body) throws Exception {
    Answer refused = note(body);

    assertEquals(status, refused.status(), refused.body());
    assertTrue(refused.refusal().length() > 10, refused.body());
  }

  @Test
  void shouldRefuseLargeNotesAndForeignPages() throws Exception {
    assertEquals(413, note("{\"note\": \"" + "x".repeat(100_000) + "\"}").status());
    for (String path : new String[] {"/runs", "/curves?run=a", "/run/a%20b/", "/base/runs", "/"}) {
      Map<String, String> foreign = Map.of("Origin", "http://evil.example");
      assertEquals(403, call(HttpMethod.GET, path, foreign, "").status(), path);
      Map<String, String> rebound = Map.of("Host", "rebound.example:" + port);
      assertEquals(403, call(HttpMethod.GET, path, rebound, "").status(), path);
    }
    for (String site : new String[] {"cross-site", "same-site"}) {
      Map<String, String> picture = Map.of("Sec-Fetch-Site", site);
      assertEquals(403, call(HttpMethod.GET, "/run/a%20b/", picture, "").status(), site);
      Map<String, String> frame =
          Map.of("Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe");
      assertEquals(403, call(HttpMethod.GET, "/run/a%20b/", frame, "").status(), site);
      Map<String, String> link =
          Map.of(
              "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document");
      assertEquals(202, call(HttpMethod.GET, "/run/a%20b/", link, "").status(), site);
    }
    Map<String, String> own = Map.of("Sec-Fetch-Site", "same-origin");
    assertEquals(202, call(HttpMethod.GET, "/run/a%20b/", own, "").status());
    Map<String, String> foreign = Map.of("Origin", "http://evil.example");
    String body = "{\"run\": \"a b\", \"token\": \"5ec2e7\", \"note\": \"x\"}";
    assertEquals(403, call(HttpMethod.POST, "/notes", foreign, body).status());
    assertEquals(List.of(), runs.changes);
    assertTrue(
        get("/runs").headers().get("content-security-policy").startsWith("default-src 'self';"));
  }

  private record Answer(int status, MultiMap headers, String body) {

    String refusal() {
      return new JsonObject(body).getString("refused");
    }
  }

  private Answer get(String path) throws Exception {
    return call(HttpMethod.GET, path, Map.of(), "");
  }

  private Answer note(String body) throws Exception {
    return post("/notes", body);
  }

  private Answer post(String path, String body) throws Exception {
    return call(HttpMethod.POST, path, Map.of(), body);
  }

  private Answer call(HttpMethod method, String path, Map<String, String> headers, String body)
      throws Exception {
    // Nested: a body that is asked for after it has arrived never comes.
    return await(
        client
            .request(method, port, "127.0.0.1", path)
            .compose(
                request -> {
                  headers.forEach(request::putHeader);
                  Future<HttpClientResponse> response =
                      body.isEmpty() ? request.send() : request.send(body);
                  return response.compose(RunsVerticleTest::read);
                }));
  }

  private static Future<Answer> read(HttpClientResponse response) {
    return response
        .body()
        .map(body -> new Answer(response.statusCode(), response.headers(), body.toString()));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
