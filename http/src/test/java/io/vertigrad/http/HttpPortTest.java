package io.vertigrad.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A port whose name is checked and whose connections are limited, as all ports of a job are. */
@Timeout(60)
class HttpPortTest {

  private static final int MOST = 3;
  private static final String HOST = "Host: 127.0.0.1\r\n";
  private static final String UPGRADE =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

  private final Vertx vertx = Vertx.vertx();
  private final AtomicLong late = new AtomicLong();
  private final List<Socket> sockets = new ArrayList<>();
  private HttpConnections connections;
  private Context loop;
  private int port;

  private void open(String host, List<String> names) throws Exception {
    OwnOrigin origin = new OwnOrigin(host, names, "serving.hosts", List.of());
    connections = new HttpConnections(MOST, () -> System.nanoTime() + late.get());
    HttpServer server =
        vertx
            .createHttpServer(HttpConnections.limited(new HttpServerOptions()).setHost("127.0.0.1"))
            .connectionHandler(
                connection -> {
                  loop = vertx.getOrCreateContext();
                  connections.add(connection);
                })
            .requestHandler(connections.guarding(request -> answer(origin, request)))
            .listen(0)
            .toCompletionStage()
            .toCompletableFuture()
            .get(20, TimeUnit.SECONDS);
    port = server.actualPort();
  }

  private static void answer(OwnOrigin origin, HttpServerRequest request) {
    Optional<OwnOrigin.Refusal> refusal = origin.refusal(request);
    if (refusal.isPresent()) {
      request.response().setStatusCode(refusal.get().status()).end(refusal.get().reason());
    } else if (request.path().equals("/socket")) {
      request.toWebSocket();
    } else if (!request.path().equals("/wait")) {
      request.response().end("here");
    }
  }

  @BeforeEach
  void listen() throws Exception {
    open("127.0.0.1", List.of("Predictor", "*.team.example", "192.0.2.7", "2001:DB8::7"));
  }

  @AfterEach
  void close() throws Exception {
    for (Socket socket : sockets) {
      socket.close();
    }
    vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @CsvSource({
    "200, 127.0.0.1:8350",
    "200, LOCALHOST",
    "200, localhost.:1",
    "200, [::1]:8350",
    "200, predictor",
    "200, PREDICTOR.:21020",
    "200, a.b.team.example",
    "200, 192.0.2.7:1",
    "200, [2001:db8::7]:1",
    "403, team.example",
    "403, evilteam.example",
    "403, predictor.evil",
    "403, 192.0.2.8",
    "403, 0.0.0.0",
    "400, 127.0.0.1:8350@evil",
    "400, evil@127.0.0.1",
    "400, 127.0.0.1:http",
    "400, 127.0.0.1/",
    "400, [::1",
    "400, ''"
  })
  void shouldAnswerByItsOwnNamesOnly(int status, String host) throws Exception {
    String answer = ask("GET / HTTP/1.1\r\nHost: %s\r\n".formatted(host));

    assertTrue(answer.startsWith("HTTP/1.1 %d ".formatted(status)), answer);
  }

  @Test
  void shouldNameTheKeyAndTheValueWhenAskedByAnotherName() throws Exception {
    String answer = ask("GET / HTTP/1.1\r\nHost: Gate:9\r\n");

    assertTrue(answer.contains("--set 'serving.hosts=[\"gate\"]'"), answer);
    assertTrue(answer.contains("--hosts gate"), answer);
  }

  @Test
  void shouldAnswerAProbeWithoutANameAndRefuseTwoNames() throws Exception {
    assertTrue(ask("GET /health HTTP/1.0\r\n").contains(" 200 "));
    assertTrue(ask("HEAD / HTTP/1.0\r\n").contains(" 200 "));
    assertTrue(ask("POST / HTTP/1.0\r\n").contains(" 400 "));
    assertTrue(ask("GET / HTTP/1.1\r\n" + HOST + HOST).contains(" 400 "));
    assertTrue(ask("GET / HTTP/1.0\r\nOrigin: http://evil.example\r\n").contains(" 403 "));
  }

  @ParameterizedTest
  @CsvSource({
    "200, a.team.example, http://a.team.example",
    "200, a.team.example, https://a.team.example",
    "200, a.team.example:8443, https://a.team.example:8443",
    "403, a.team.example, https://a.team.example:8443",
    "403, a.team.example:8443, https://a.team.example",
    "403, a.team.example, https://b.team.example",
    "403, 127.0.0.1:8350, https://a.team.example",
    "403, a.team.example, null"
  })
  void shouldAnswerItsOwnPagesBehindAProxyThatEndsTls(int status, String host, String origin)
      throws Exception {
    String forged = "X-Forwarded-Host: b.team.example\r\nX-Forwarded-Proto: https\r\n";

    String answer =
        ask("GET / HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n%s".formatted(host, origin, forged));

    assertTrue(answer.startsWith("HTTP/1.1 %d ".formatted(status)), answer);
  }

  @Test
  void shouldGoByAnyAddressWhenOtherMachinesReachIt() throws Exception {
    open("0.0.0.0", List.of());

    assertTrue(ask("GET / HTTP/1.1\r\nHost: 192.0.2.8:1\r\n").contains(" 200 "));
    assertTrue(ask("GET / HTTP/1.1\r\nHost: [2001:db8::7]\r\n").contains(" 200 "));
    assertTrue(ask("GET / HTTP/1.1\r\nHost: cafe\r\n").contains(" 403 "));
  }

  @Test
  void shouldAnswer503WhenAllConnectionsAreInUseAndNeverNothing() throws Exception {
    List<Socket> kept = new ArrayList<>();
    for (int i = 0; i < MOST; i++) {
      kept.add(connect());
      send(kept.get(i), "GET / HTTP/1.1\r\n" + HOST + "\r\n");
      assertTrue(read(kept.get(i)).contains(" 200 "));
    }

    for (int i = 0; i < MOST; i++) {
      Socket refused = connect();
      send(refused, "GET / HTTP/1.1\r\n" + HOST + "\r\n");
      String answer = new String(refused.getInputStream().readAllBytes(), US_ASCII);
      assertTrue(answer.startsWith("HTTP/1.1 503 "), answer);
      assertTrue(answer.contains("Retry-After: 1\r\n"), answer);
    }
    String probe = ask("GET /health/live HTTP/1.1\r\n" + HOST);
    assertTrue(probe.startsWith("HTTP/1.1 200 "), "a full port does not end a process: " + probe);
    assertTrue(kept.stream().noneMatch(this::isClosed));

    pass(6);
    assertTrue(ask("GET / HTTP/1.1\r\n" + HOST).contains(" 200 "), "an idle one gave its place");
    Awaitility.await().until(() -> kept.stream().filter(this::isClosed).count() == 1);
  }

  @Test
  void shouldNotCloseAConnectionThatWaitsForItsAnswerOrHasASocket() throws Exception {
    List<Socket> waiting = List.of(connect(), connect(), connect());
    send(waiting.get(0), "GET /wait HTTP/1.1\r\n" + HOST + "\r\n");
    send(waiting.get(1), "GET /wait HTTP/1.1\r\n" + HOST + "\r\n");
    send(waiting.get(2), "GET /socket HTTP/1.1\r\n" + HOST + UPGRADE);
    assertTrue(read(waiting.get(2)).contains(" 101 "));
    String answer = ask("GET / HTTP/1.1\r\n" + HOST);
    assertTrue(answer.contains(" 503 "), answer);

    pass(1_000);

    answer = ask("GET / HTTP/1.1\r\n" + HOST);
    assertTrue(answer.contains(" 503 "), answer);
    assertTrue(waiting.stream().noneMatch(this::isClosed));
  }

  @Test
  void shouldGiveThePlaceOfASocketBackWhenItIsClosed() throws Exception {
    for (int i = 0; i < 3 * MOST; i++) {
      Socket socket = connect();
      send(socket, "GET /socket HTTP/1.1\r\n" + HOST + UPGRADE);
      assertTrue(read(socket).contains(" 101 "), "socket " + i);
      socket.close();
      Awaitility.await().until(() -> ask("GET / HTTP/1.1\r\n" + HOST).contains(" 200 "));
    }
  }

  @Test
  void shouldCloseSilentConnectionsBeyondTheLimitAndSlowOnesInTime() throws Exception {
    List<Socket> silent = new ArrayList<>();
    for (int i = 0; i < 10 * MOST; i++) {
      silent.add(connect());
    }
    awaitOpen(silent, 2 * MOST);

    pass(6);
    awaitOpen(silent, MOST);
    send(silent.get(0), "GET / HTTP/1.1\r\n" + HOST + "\r\n");
    assertTrue(read(silent.get(0)).contains(" 200 "), "it was in service all the time");
    send(silent.get(1), "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 9\r\n\r\n1");

    pass(HttpConnections.PHASE_SECONDS);
    Awaitility.await().until(() -> isClosed(silent.get(2)));
    assertFalse(isClosed(silent.get(0)));
    pass(5 * HttpConnections.PHASE_SECONDS);
    awaitOpen(silent, 0);
  }

  private void awaitOpen(List<Socket> sockets, int expected) {
    Awaitility.await()
        .untilAsserted(
            () -> assertEquals(expected, sockets.stream().filter(one -> !isClosed(one)).count()));
  }

  /** Lets time pass, and looks for slow connections as a port does once a second. */
  private void pass(int seconds) throws Exception {
    late.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
    loop.<Void>executeBlocking(() -> null)
        .onSuccess(back -> connections.closeSlow())
        .toCompletionStage()
        .toCompletableFuture()
        .get(20, TimeUnit.SECONDS);
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket("127.0.0.1", port);
    socket.setSoTimeout(20_000);
    sockets.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
  }

  private static String read(Socket socket) throws IOException {
    byte[] bytes = new byte[4_096];
    return new String(bytes, 0, Math.max(0, socket.getInputStream().read(bytes)), US_ASCII);
  }

  private String ask(String head) throws IOException {
    Socket socket = connect();
    send(socket, head + "Connection: close\r\n\r\n");
    return new String(socket.getInputStream().readAllBytes(), US_ASCII);
  }

  private boolean isClosed(Socket socket) {
    try {
      socket.setSoTimeout(1);
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    } finally {
      try {
        socket.setSoTimeout(20_000);
      } catch (IOException closed) {
        // Nothing reads it again.
      }
    }
  }
}
