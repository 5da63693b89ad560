package io.vertigrad.observability;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MemberPortTest {

  private final Vertx vertx = Vertx.builder().withMetrics(BusTraffic.counting()).build();

  /** A field, because Vert.x closes a client that nobody refers to. */
  private final HttpClient client = vertx.createHttpClient();

  @TempDir private Path folder;
  private final AtomicBoolean takesPart = new AtomicBoolean();
  private final AtomicInteger drains = new AtomicInteger();
  private int port;
  private MemberPort opened;

  private record Answer(int status, String body) {}

  @BeforeEach
  void open() throws Exception {
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    opened =
        await(MemberPort.open("0.0.0.0", port, folder, takesPart::get, drains::incrementAndGet));
  }

  @AfterEach
  void close() {
    opened.close();
    vertx.close();
  }

  @Test
  void shouldBeLiveBeforeItJoinsAndReadyWhileItsMemberTakesPart() {
    assertEquals(200, get("/health/live").status());
    assertEquals(503, get("/health/ready").status());
    assertEquals(503, get("/health").status());

    opened.joined(vertx, "digits");
    assertEquals(503, get("/health/ready").status(), "its member has not started");
    takesPart.set(true);

    assertEquals(200, get("/health/ready").status());
    assertEquals(200, get("/health").status());
    JsonObject all = new JsonObject(get("/health").body());
    assertEquals(3, all.getJsonArray("checks").size(), all::encode);
    takesPart.set(false);
    assertEquals(503, get("/health/ready").status(), "it drains");
    assertEquals(200, get("/health/live").status());
  }

  @Test
  void shouldExportTheMetersOfTheNodeThatItJoinedLast() {
    assertTrue(get("/metrics").body().contains("jvm_memory_used_bytes{"));

    opened.joined(vertx, "digits");
    vertx.eventBus().publish("somebody", "word");

    String scraped = get("/metrics").body();
    assertTrue(scraped.contains("vertigrad_bus_handlers{job_name=\"digits\"} 0.0"), scraped);
    opened.joined(vertx, "mnist");
    assertTrue(get("/metrics").body().contains("vertigrad_bus_handlers{job_name=\"mnist\"}"));

    opened.left();

    String between = get("/metrics").body();
    assertTrue(between.contains("jvm_memory_used_bytes{"), between);
    assertFalse(between.contains("mnist"), between);
    takesPart.set(true);
    assertEquals(503, get("/health/ready").status(), "it is in no cluster");
  }

  @Test
  void shouldDrainOnceForAPostWithTheTokenThatOnlyItsUserCanRead() throws Exception {
    Path file = folder.resolve("drain-%d.json".formatted(port));
    String token = Files.readString(file);
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertEquals(405, get("/drain").status());
    for (String wrong :
        List.of("", "{}", "[1]", "{\"token\": 5}", token.replaceAll("[a-f]", "0"))) {
      Answer refused = drain("127.0.0.1", Map.of(), wrong);
      assertEquals(403, refused.status(), wrong);
      assertTrue(refused.body().contains("curl -d @DIR/" + file.getFileName()), refused.body());
    }
    assertEquals(413, drain("127.0.0.1", Map.of(), "x".repeat(100_000)).status());
    assertEquals(0, drains.get());

    assertEquals(202, drain("127.0.0.1", Map.of(), token).status());

    Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> drains.get() == 1);
    opened.close();
    assertTrue(Files.notExists(file), "nobody answers to it any more");
  }

  @Test
  void shouldRefuseToDrainForPagesAndForOtherMachines() throws Exception {
    String token = Files.readString(folder.resolve("drain-%d.json".formatted(port)));
    assertEquals(403, drain("127.0.0.1", Map.of("Origin", "http://evil.example"), token).status());
    assertEquals(
        403, drain("127.0.0.1", Map.of("Host", "rebound.example:" + port), token).status());
    Optional<String> outside = outsideAddress();
    Assumptions.assumeTrue(outside.isPresent(), "this machine has no address but loopback");
    Answer answer = drain(outside.get(), Map.of(), token);

    assertEquals(403, answer.status());
    assertTrue(answer.body().startsWith("only this machine may drain"), answer.body());
    assertEquals(200, ask(HttpMethod.GET, outside.get(), "/health/live", Map.of(), "").status());
    assertEquals(0, drains.get());
  }

  @Test
  void shouldAnswerProbesByAnyNameAndWithoutOne() throws Exception {
    Map<String, String> named = Map.of("Host", "worker-0.vertigrad-workers:8350");
    assertEquals(200, ask(HttpMethod.GET, "127.0.0.1", "/metrics", named, "").status());
    try (Socket probe = new Socket("127.0.0.1", port)) {
      probe.setSoTimeout(20_000);
      probe.getOutputStream().write("GET /health/live HTTP/1.0\r\n\r\n".getBytes(US_ASCII));
      String answer = new String(probe.getInputStream().readAllBytes(), US_ASCII);
      assertTrue(answer.startsWith("HTTP/1.0 200 "), answer);
    }
  }

  private Answer drain(String host, Map<String, String> headers, String body) {
    return ask(HttpMethod.POST, host, "/drain", headers, body);
  }

  private static Optional<String> outsideAddress() throws Exception {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(Inet4Address.class::isInstance)
        .filter(address -> !address.isLoopbackAddress())
        .map(InetAddress::getHostAddress)
        .findFirst();
  }

  private Answer get(String path) {
    return ask(HttpMethod.GET, "127.0.0.1", path, Map.of(), "");
  }

  private Answer ask(
      HttpMethod method, String host, String path, Map<String, String> headers, String content) {
    RequestOptions options =
        new RequestOptions().setMethod(method).setHost(host).setPort(port).setURI(path);
    headers.forEach(options::addHeader);
    // Nested: a body that is asked for after it has arrived never comes.
    return await(
        client
            .request(options)
            .compose(
                request ->
                    request
                        .send(content)
                        .compose(
                            got ->
                                got.body()
                                    .map(body -> new Answer(got.statusCode(), body.toString())))));
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
