package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
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
  private HttpClient client;
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
    RunsVerticle page =
        new RunsVerticle(
            new DashboardConfig(true, "127.0.0.1", 0, List.of("*.team.example"), List.of()),
            "5ec2e7",
            runs,
            (name, gone) ->
                name.equals("a b")
                    ? Future.succeededFuture("http://127.0.0.1:9/")
                    : Future.failedFuture(new NoSuchElementException("there is no run " + name)));
    await(vertx.deployVerticle(page));
    port = URI.create(page.url()).getPort();
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

  @Test
  void shouldLeadToThePageOfARun() throws Exception {
    Answer found = get("/run?name=a+b");

    assertEquals(302, found.status());
    assertEquals("http://127.0.0.1:9/", found.headers().get("location"));
    Answer named =
        call(HttpMethod.GET, "/run?name=a+b", Map.of("Host", "ui.team.example:" + port), "");
    assertEquals("http://ui.team.example:9/", named.headers().get("location"));
    assertEquals(404, get("/run?name=../etc").status());
    assertEquals("there is no run ../etc", get("/run?name=../etc").refusal());
    assertEquals(400, get("/run").status());
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
    for (String path : new String[] {"/runs", "/curves?run=a", "/run?name=a+b", "/"}) {
      Map<String, String> foreign = Map.of("Origin", "http://evil.example");
      assertEquals(403, call(HttpMethod.GET, path, foreign, "").status(), path);
      Map<String, String> rebound = Map.of("Host", "rebound.example:" + port);
      assertEquals(403, call(HttpMethod.GET, path, rebound, "").status(), path);
    }
    for (String site : new String[] {"cross-site", "same-site"}) {
      Map<String, String> picture = Map.of("Sec-Fetch-Site", site);
      assertEquals(403, call(HttpMethod.GET, "/run?name=a+b", picture, "").status(), site);
    }
    Map<String, String> own = Map.of("Sec-Fetch-Site", "same-origin");
    assertEquals(302, call(HttpMethod.GET, "/run?name=a+b", own, "").status());
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
    return call(HttpMethod.POST, "/notes", Map.of(), body);
  }

  private Answer call(HttpMethod method, String path, Map<String, String> headers, String body)
      throws Exception {
    return await(
        client
            .request(method, port, "127.0.0.1", path)
            .compose(
                request -> {
                  headers.forEach(request::putHeader);
                  return body.isEmpty() ? request.send() : request.send(body);
                })
            .compose(RunsVerticleTest::read));
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
