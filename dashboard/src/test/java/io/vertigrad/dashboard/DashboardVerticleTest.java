package io.vertigrad.dashboard;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.junit5.VertxExtension;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(VertxExtension.class)
final class DashboardVerticleTest {

  private Vertx vertx;
  private HttpClient client;
  private int port;

  @BeforeEach
  void deploy(Vertx fresh) throws Exception {
    vertx = fresh;
    client = vertx.createHttpClient();
    port = deploy(0);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "/style.css",
        "/modules/main.js",
        "/vendor/uplot/uPlot.iife.min.js",
        "/vendor/uplot/LICENSE",
        "/vendor/sockjs-client/sockjs.min.js",
        "/vendor/sockjs-client/LICENSE",
        "/vendor/eventbus-bridge-client/vertx-eventbus.js",
        "/vendor/eventbus-bridge-client/LICENSE",
        "/job",
        "/eventbus/info"
      })
  void shouldServeAllFilesItselfAndForbidOthers(String path) throws Exception {
    HttpClientResponse answer = get(path, Map.of());

    assertEquals(200, answer.statusCode());
    assertTrue(
        answer.getHeader("Content-Security-Policy").startsWith("default-src 'self';"),
        answer.getHeader("Content-Security-Policy"));
    assertEquals("nosniff", answer.getHeader("X-Content-Type-Options"));
    assertEquals("DENY", answer.getHeader("X-Frame-Options"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"/../pom.xml", "/%2e%2e/%2e%2e/DashboardVerticle.class", "/modules/"})
  void shouldServeOnlyThePage(String path) throws Exception {
    assertNotEquals(200, get(path, Map.of()).statusCode());
  }

  @ParameterizedTest
  @CsvSource({
    "/eventbus/info, GET",
    "/eventbus/000/abcdefgh/xhr, POST",
    "/eventbus/000/abcdefgh/xhr_streaming, POST",
    "/eventbus/000/abcdefgh/xhr_send, POST",
    "/eventbus/websocket, GET",
    "/drain, POST",
    "/, GET"
  })
  void shouldRefuseForeignPagesOnEveryTransport(String path, HttpMethod method) throws Exception {
    for (String origin : new String[] {"http://evil.example", "null", "http://127.0.0.1:1"}) {
      assertEquals(403, request(method, path, Map.of("Origin", origin)).statusCode(), origin);
    }
  }

  @Test
  void shouldRefuseRequestsWithAForeignHostName() throws Exception {
    assertEquals(403, get("/", Map.of("Host", "rebound.example:" + port)).statusCode());
    assertEquals(200, get("/", Map.of("Host", "localhost:" + port)).statusCode());
    assertEquals(400, get("/", Map.of("Host", "127.0.0.1:%d@evil".formatted(port))).statusCode());
  }

  @Test
  void shouldGoByTheNamesThatTheJobListsOnEveryPath() throws Exception {
    for (String path : List.of("/", "/job", "/metrics", "/health/live", "/eventbus/info")) {
      assertEquals(403, get(path, Map.of("Host", "coordinator:8350")).statusCode(), path);
    }
    port = deploy(JsonObject.of("port", 0, "hosts", JsonArray.of("coordinator", "*.example")));

    for (String path : List.of("/", "/job", "/metrics", "/health/live", "/eventbus/info")) {
      for (String name : List.of("coordinator:8350", "Coordinator.", "page.team.example")) {
        Map<String, String> asked = Map.of("Host", name, "Origin", "http://" + name);
        assertEquals(200, get(path, asked).statusCode(), name + path);
      }
      assertEquals(403, get(path, Map.of("Host", "example")).statusCode(), path);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"*", "http://team.example", "team.example:8350", "a b", "", "*.*.example"})
  void shouldRefuseAHostThatIsNoName(String name) {
    JsonObject dashboard =
        JsonObject.of("hosts", JsonArray.of("ok", "*.ok", "10.0.0.5", "::1", name));
    for (String section : List.of("dashboard", "serving")) {
      JsonObject job = JsonObject.of("job", "story", section, dashboard);

      Exception refusal =
          assertThrows(SettingsException.class, () -> JobConfig.read("job.json", job));

      assertTrue(
          refusal.getMessage().startsWith("job.json: %s.hosts has \"%s\"".formatted(section, name)),
          refusal.getMessage());
    }
  }

  @Test
  void shouldAcceptItsOwnPage() throws Exception {
    Map<String, String> own = Map.of("Origin", "http://127.0.0.1:" + port);

    assertEquals(200, get("/eventbus/info", own).statusCode());
  }

  @Test
  void shouldAnswerAPageOfAnotherServerThatTheJobNamesAndNoOther() throws Exception {
    String team = "https://team.example:8443";
    port = deploy(JsonObject.of("port", 0, "origins", JsonArray.of("http://a.example", team)));

    for (String path : List.of("/job", "/eventbus/info", "/metrics")) {
      HttpClientResponse answer = get(path, Map.of("Origin", team));
      assertEquals(200, answer.statusCode(), path);
      assertEquals(team, answer.getHeader("Access-Control-Allow-Origin"), path);
      assertEquals("true", answer.getHeader("Access-Control-Allow-Credentials"), path);
    }
    Map<String, String> asks = Map.of("Origin", team, "Access-Control-Request-Method", "POST");
    HttpClientResponse first = request(HttpMethod.OPTIONS, "/drain", asks);
    assertEquals(team, first.getHeader("Access-Control-Allow-Origin"));
    for (String other : List.of("https://team.example", "http://team.example:8443", "null")) {
      HttpClientResponse refused = get("/job", Map.of("Origin", other));
      assertEquals(403, refused.statusCode(), other);
      assertNull(refused.getHeader("Access-Control-Allow-Origin"), other);
    }
    for (String path : List.of("/", "/job")) {
      assertEquals(200, get(path, Map.of()).statusCode(), path);
      assertEquals(200, get(path, Map.of("Origin", "http://127.0.0.1:" + port)).statusCode(), path);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "*",
        "https://*.example",
        "team.example",
        "https://team.example/",
        "https://Team.example",
        "https://team.example:443",
        "http://team.example:80"
      })
  void shouldRefuseAnOriginThatNoBrowserSends(String origin) {
    JsonObject dashboard = JsonObject.of("origins", JsonArray.of("http://[::1]:8000", origin));
    JsonObject job = JsonObject.of("job", "story", "dashboard", dashboard);

    Exception refusal =
        assertThrows(SettingsException.class, () -> JobConfig.read("job.json", job));

    assertTrue(
        refusal.getMessage().startsWith("job.json: dashboard.origins has \"" + origin + "\""),
        refusal.getMessage());
  }

  @Test
  void shouldPassARequestForAMemberToLeaveOnWithItsToken() throws Exception {
    String address =
        JobConfig.read("test", JsonObject.of("job", "story")).addresses().metricsRequests();
    List<JsonObject> asked = new CopyOnWriteArrayList<>();
    vertx
        .eventBus()
        .<JsonObject>consumer(
            address,
            message -> {
              asked.add(message.body());
              boolean known = "5ec2e7".equals(message.body().getString("token"));
              message.reply(JsonObject.of(known ? "state" : "refused", "running"));
            });

    assertEquals(400, drain("worker 1"));
    assertEquals(400, drain(""));
    assertEquals(400, drain("[\"worker 1\"]"));
    assertEquals(List.of(), asked);
    assertEquals(400, drain("{\"member\": \"worker 1\", \"token\": \"guessed\"}"));
    assertEquals(202, drain("{\"member\": \"worker 1\", \"token\": \"5ec2e7\"}"));
    JsonObject control =
        JsonObject.of("request", "control", "action", "drain")
            .put("member", "worker 1")
            .put("token", "5ec2e7");
    assertEquals(control, asked.get(1));
  }

  private int drain(String body) throws Exception {
    return call(HttpMethod.POST, "/drain", Map.of(), body).statusCode();
  }

  @Test
  void shouldRefuseLargeBodies() throws Exception {
    HttpClientResponse answer =
        call(HttpMethod.POST, "/eventbus/000/abcdefgh/xhr_send", Map.of(), "x".repeat(64 * 1024));

    assertEquals(413, answer.statusCode());
  }

  @Test
  void shouldCloseAConnectionThatExceedsTheRequestRate() throws Exception {
    int requests = 2_000;
    try (Socket socket = new Socket("127.0.0.1", port)) {
      String request = "GET /job HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n".formatted(port);
      socket.setSoTimeout(20_000);
      String answers;
      try {
        socket.getOutputStream().write(request.repeat(requests).getBytes(US_ASCII));
        answers = new String(socket.getInputStream().readAllBytes(), US_ASCII);
      } catch (SocketTimeoutException open) {
        throw new AssertionError("the connection is still open", open);
      } catch (SocketException reset) {
        return;
      }

      int answered = answers.split("HTTP/1.1 200").length - 1;
      assertTrue(answered < requests, answered + " requests were answered");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/eventbus/000/abcdefgh/jsonp?c=x",
        "/eventbus/000/abcdefgh/htmlfile?c=x",
        "/eventbus/000/abcdefgh/eventsource"
      })
  void shouldNotOfferTransportsThatFramesAndScriptsUse(String path) throws Exception {
    assertEquals(404, get(path, Map.of()).statusCode());
  }

  @Test
  void shouldTakeAFreePortWhenTheOneAskedForIsTaken() throws Exception {
    int other = deploy(port);

    assertNotEquals(port, other);
    assertFalse(other == 0);
  }

  private int deploy(int wanted) throws Exception {
    return deploy(JsonObject.of("port", wanted));
  }

  private int deploy(JsonObject dashboard) throws Exception {
    DashboardVerticle page = new DashboardVerticle();
    JsonObject job = JsonObject.of("job", "story", "dashboard", dashboard);
    DeploymentOptions options =
        new DeploymentOptions().setConfig(JobConfig.read("test", job).json());
    await(vertx.deployVerticle(page, options));
    return URI.create(page.url()).getPort();
  }

  private HttpClientResponse get(String path, Map<String, String> headers) throws Exception {
    return request(HttpMethod.GET, path, headers);
  }

  private HttpClientResponse request(HttpMethod method, String path, Map<String, String> headers)
      throws Exception {
    return call(method, path, headers, "");
  }

  private HttpClientResponse call(
      HttpMethod method, String path, Map<String, String> headers, String body) throws Exception {
    return await(
        client
            .request(method, port, "127.0.0.1", path)
            .compose(
                request -> {
                  headers.forEach(request::putHeader);
                  return body.isEmpty() ? request.send() : request.send(body);
                }));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
