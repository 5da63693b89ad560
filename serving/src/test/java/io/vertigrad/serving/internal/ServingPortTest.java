package io.vertigrad.serving.internal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.http.HttpConnections;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Attacks the port with what anyone may send there: large, slow, many and foreign requests. */
@Timeout(60)
class ServingPortTest {

  private static final int MEGABYTE = 1 << 20;
  private static final String HOST = "Host: 127.0.0.1\r\n";
  private static final String INFER = "POST /v2/models/fake/infer HTTP/1.1\r\n" + HOST;
  private static final String LIVE = "GET /v2/health/live HTTP/1.1\r\n" + HOST;
  private static final String RAW = "Inference-Header-Content-Length: 0\r\n";

  private final Vertx vertx = Vertx.vertx();
  private final AtomicLong late = new AtomicLong();
  private final List<Socket> sockets = new ArrayList<>();
  private Predictor predictor;
  private InferenceServer server;
  private RequestMemory memory;
  private int port;

  /** Returns a model of pictures with outputs of any number. */
  private static ServedModel model(int pixels, int outputs, CountDownLatch passes) {
    SampleFormat pictures =
        new SampleFormat(
            "fake",
            List.of(1, pixels, 1),
            Targets.values(outputs),
            0,
            List.of(),
            Optional.empty(),
            Optional.empty(),
            List.of(new float[256]),
            Treatment.ON_BLACK);
    return new ZeroModel(pictures, passes);
  }

  @AfterEach
  void close() throws Exception {
    for (Socket socket : sockets) {
      socket.close();
    }
    predictor.close();
    get(vertx.close());
  }

  @Test
  void shouldRefuseAPictureByItsHeaderWhenItTakesTooMuchMemory() throws Exception {
    start(64 * MEGABYTE, 4, 1);

    String answer = ask(picture(7_070, 7_070));

    assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
    assertTrue(answer.contains("image: takes 600 MB of memory, expected at most 14 MB"), answer);
    assertTrue(ask(picture(2, 2)).startsWith("HTTP/1.1 200 "));
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldRefuseARequestWhoseSamplesTakeTooMuchMemory() throws Exception {
    start(64 * MEGABYTE, 1, 100_000);

    String answer = ask(raw(4 * 4));

    assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
    assertTrue(answer.contains("4 samples: takes 20 MB of memory"), answer);
    assertTrue(ask(raw(4)).startsWith("HTTP/1.1 200 "));
  }

  @Test
  void shouldRefuseLargeRequestsButNotSmallOnesWhenOthersHoldTheMemory() throws Exception {
    start(64 * MEGABYTE, 1, 1);
    Socket slow = connect();
    slow.getOutputStream().write((INFER + RAW + "Content-Length: 8000000\r\n\r\n").getBytes());
    slow.getOutputStream().write(new byte[3_000_000]);
    Awaitility.await().until(() -> memory.held() == 6_000_000);

    String large = ask(raw(1_000_000));
    String small = ask(raw(4));

    assertTrue(large.startsWith("HTTP/1.1 503 "), large);
    assertTrue(large.contains("retry-after: 1") || large.contains("Retry-After: 1"), large);
    assertTrue(large.contains("body: requests hold "), large);
    assertTrue(large.contains("expected at most 7 MB (a share of the heap: -Xmx)"), large);
    assertTrue(small.startsWith("HTTP/1.1 200 "), small);
    slow.close();
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldRefuseABodyByItsLengthBeforeItIsSent() throws Exception {
    start(64 * MEGABYTE, 1, 1);

    Socket socket = connect();
    socket.getOutputStream().write((INFER + "Content-Length: 99999999999\r\n\r\n").getBytes());

    String answer = readAvailable(socket);
    assertTrue(answer.startsWith("HTTP/1.1 413 "), answer);
    assertTrue(answer.contains("serving.maxBytes"), answer);
    assertTrue(answer.toLowerCase().contains("connection: close"), answer);
  }

  @Test
  void shouldAnswerEveryPipelinedRequest() throws Exception {
    start(64 * MEGABYTE, 1, 1);
    int requests = 1_000;

    String answers = ask((LIVE + "\r\n").repeat(requests - 1) + LIVE + "Connection: close\r\n\r\n");

    assertEquals(requests, answers.split("HTTP/1.1 200").length - 1);
  }

  @Test
  void shouldCompressAnswersOnlyForClientsThatAcceptIt() throws Exception {
    start(64 * MEGABYTE, 1, 1_000);
    String json =
        "{\"inputs\":[{\"name\":\"input\",\"shape\":[1,1,1,1],\"datatype\":\"FP32\",\"data\":[0]}]}";
    String request =
        INFER
            + "Connection: close\r\nContent-Length: %d\r\n%%s\r\n%s".formatted(json.length(), json);

    String plain = ask(request.formatted("Accept-Encoding: gzip;q=0, *\r\n"));
    byte[] packed = bytes(request.formatted("Accept-Encoding: deflate, gzip\r\n"));

    int begin = new String(packed, ISO_8859_1).indexOf("\r\n\r\n") + 4;
    String head = new String(packed, 0, begin, US_ASCII);
    assertTrue(head.contains("Content-Encoding: gzip\r\n"), head);
    assertFalse(plain.contains("Content-Encoding"), plain);
    try (InputStream in =
        new GZIPInputStream(new ByteArrayInputStream(packed, begin, packed.length - begin))) {
      String body = new String(in.readAllBytes(), US_ASCII);
      assertEquals(
          1_000,
          new JsonObject(body)
              .getJsonArray("outputs")
              .getJsonObject(0)
              .getJsonArray("data")
              .size());
    }
  }

  @Test
  void shouldLimitAnswersForAClientThatNeverReads() throws Exception {
    start(1_024 * MEGABYTE, 1, 1_000_000);
    Socket socket = connect();
    String two = INFER + RAW + "Content-Length: 4\r\n\r\n\0\0\0\0";

    socket.getOutputStream().write(two.repeat(50).getBytes(US_ASCII));

    Awaitility.await().until(() -> memory.held() > 0 && predictor.progress().requests() >= 1);
    Awaitility.await()
        .during(500, TimeUnit.MILLISECONDS)
        .until(() -> predictor.progress().requests() <= 8);
    socket.close();
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldAcceptNewConnectionsWhenTheLimitIsReached() throws Exception {
    start(64 * MEGABYTE, 1, 1);
    for (int i = 0; i < InferenceServer.MOST_CONNECTIONS + 44; i++) {
      connect().getOutputStream().write("GET /v2/health".getBytes(US_ASCII));
    }

    assertTrue(ask(LIVE + "Connection: close\r\n\r\n").startsWith("HTTP/1.1 200 "));
    Awaitility.await().until(() -> sockets.stream().filter(this::isClosed).count() >= 44);
    assertTrue(sockets.stream().filter(this::isClosed).count() <= 46);
  }

  @Test
  void shouldCloseConnectionsThatSendOrReadTooSlowly() throws Exception {
    start(1_024 * MEGABYTE, 1, 2_000_000);
    Socket idle = connect();
    Socket head = connect();
    head.getOutputStream().write("GET /v2/health".getBytes(US_ASCII));
    Socket body = connect();
    body.getOutputStream().write((INFER + RAW + "Content-Length: 4\r\n\r\n\0").getBytes(US_ASCII));
    Socket reader = connect();
    reader.getOutputStream().write(raw(4).getBytes(US_ASCII));
    Awaitility.await().until(() -> predictor.progress().requests() == 1);
    Awaitility.await().until(() -> memory.held() > 8_000_000);
    late.set(TimeUnit.SECONDS.toNanos(HttpConnections.PHASE_SECONDS - 20));
    assertTrue(ask(LIVE + "Connection: close\r\n\r\n").startsWith("HTTP/1.1 200 "));
    assertTrue(Stream.of(idle, head, body).noneMatch(this::isClosed));

    late.set(TimeUnit.SECONDS.toNanos(HttpConnections.PHASE_SECONDS + 20));

    Awaitility.await().until(() -> Stream.of(idle, head, body).allMatch(this::isClosed));
    Awaitility.await().until(() -> memory.held() == 0 || hasPassed(10));
    assertTrue(ask(LIVE + "Connection: close\r\n\r\n").startsWith("HTTP/1.1 200 "));
  }

  /** Lets time pass, because an answer may have been written just now; returns false. */
  private boolean hasPassed(int seconds) {
    late.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
    return false;
  }

  @Test
  void shouldNotCloseAConnectionThatWaitsForItsAnswer() throws Exception {
    CountDownLatch until = new CountDownLatch(1);
    start(64 * MEGABYTE, 1, 1, until);
    Socket socket = connect();
    socket.getOutputStream().write(raw(4).getBytes(US_ASCII));
    Awaitility.await().until(() -> memory.held() > 0);

    Socket idle = connect();
    idle.getOutputStream().write((LIVE + "\r\n").getBytes(US_ASCII));
    assertTrue(readAvailable(idle).startsWith("HTTP/1.1 200 "));

    Awaitility.await().until(() -> isClosed(idle) || hasPassed(HttpConnections.PHASE_SECONDS));

    assertFalse(isClosed(socket));
    until.countDown();
    socket.setSoTimeout(20_000);
    assertTrue(readAvailable(socket).startsWith("HTTP/1.1 200 "));
  }

  @Test
  void shouldKeepARequestsMemoryUntilItIsComputedWhenItsClientIsGone() throws Exception {
    CountDownLatch until = new CountDownLatch(1);
    start(64 * MEGABYTE, 1, 1_000, until);
    Socket socket = connect();
    socket.getOutputStream().write(raw(4).getBytes(US_ASCII));
    Awaitility.await().until(() -> memory.held() > 1_000);

    socket.close();

    Awaitility.await().during(500, TimeUnit.MILLISECONDS).until(() -> memory.held() > 1_000);
    until.countDown();
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldStopWhenAPeerDoesNotReadItsAnswer() throws Exception {
    start(1_024 * MEGABYTE, 1, 2_000_000);
    connect().getOutputStream().write(raw(4).getBytes(US_ASCII));
    Awaitility.await().until(() -> predictor.progress().requests() == 1);

    get(server.close());

    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldRefuseForeignHostsOriginsAndFormTypes() throws Exception {
    start(64 * MEGABYTE, 1, 1);
    String get = "GET /v2/health/live HTTP/1.1\r\nConnection: close\r\n";

    assertStatus(403, get + "Host: evil.example\r\n\r\n");
    assertStatus(403, get + HOST + "Origin: http://evil.example\r\n\r\n");
    assertStatus(403, get + HOST + "Origin: null\r\n\r\n");
    assertStatus(200, get + HOST + "Origin: http://127.0.0.1\r\n\r\n");
    assertStatus(200, get + "Host: localhost:%d\r\n\r\n".formatted(port));
    assertStatus(403, raw(4).replace(HOST, HOST + "Origin: http://evil.example\r\n"));
    assertStatus(415, raw(4).replace(HOST, HOST + "Content-Type: text/plain;charset=UTF-8\r\n"));
    assertStatus(415, raw(4).replace(HOST, HOST + "Content-Type: multipart/form-data; x=y\r\n"));
    assertStatus(200, raw(4).replace(HOST, HOST + "Content-Type: application/octet-stream\r\n"));
    assertStatus(200, raw(4));
  }

  private void assertStatus(int status, String request) throws Exception {
    String answer = ask(request);
    assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), () -> request + answer);
  }

  private void start(int heapBytes, int pixels, int outputs) throws Exception {
    start(heapBytes, pixels, outputs, new CountDownLatch(0));
  }

  private void start(int heapBytes, int pixels, int outputs, CountDownLatch until)
      throws Exception {
    JobConfig job =
        JobConfig.read("test", new JsonObject().put("serving", new JsonObject().put("port", 0)));
    predictor =
        Predictor.holding(
            job.serving(), "fake", "a1", event -> {}, () -> model(pixels, outputs, until));
    predictor.ready().join();
    memory = new RequestMemory(heapBytes);
    server =
        new InferenceServer(
            vertx,
            memory,
            job.serving().http(),
            ModelRepository.of(predictor),
            BearerTokens.NONE,
            () -> System.nanoTime() + late.get());
    get(server.open());
    port = URI.create(server.url()).getPort();
  }

  /** Returns a request for samples of float32 numbers. */
  private static String raw(int bytes) {
    return INFER
        + RAW
        + "Connection: close\r\nContent-Length: %d\r\n\r\n".formatted(bytes)
        + "\0".repeat(bytes);
  }

  /** Returns a request with a black picture of which only the first row is there. */
  private static String picture(int width, int height) throws IOException {
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(png);
    out.writeLong(0x89504E470D0A1A0AL);
    ByteArrayOutputStream header = new ByteArrayOutputStream();
    DataOutputStream fields = new DataOutputStream(header);
    fields.writeInt(width);
    fields.writeInt(height);
    fields.write(new byte[] {8, 0, 0, 0, 0});
    chunk(out, "IHDR", header.toByteArray());
    ByteArrayOutputStream rows = new ByteArrayOutputStream();
    try (DeflaterOutputStream packed = new DeflaterOutputStream(rows)) {
      packed.write(new byte[(width + 1) * Math.min(height, 2)]);
    }
    chunk(out, "IDAT", rows.toByteArray());
    chunk(out, "IEND", new byte[0]);
    return INFER
        + "Content-Type: image/png\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            .formatted(png.size())
        + png.toString(ISO_8859_1);
  }

  private static void chunk(DataOutputStream out, String type, byte[] data) throws IOException {
    CRC32 check = new CRC32();
    check.update(type.getBytes(US_ASCII));
    check.update(data);
    out.writeInt(data.length);
    out.writeBytes(type);
    out.write(data);
    out.writeInt((int) check.getValue());
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(4_096);
    socket.setSoTimeout(20_000);
    socket.connect(new InetSocketAddress("127.0.0.1", port));
    sockets.add(socket);
    return socket;
  }

  /** Sends a request and returns everything until the server closes the connection. */
  private String ask(String request) throws IOException {
    return new String(bytes(request), US_ASCII);
  }

  private byte[] bytes(String request) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.getBytes(ISO_8859_1));
      return socket.getInputStream().readAllBytes();
    }
  }

  private static String readAvailable(Socket socket) throws IOException {
    byte[] found = new byte[4_096];
    int length = socket.getInputStream().read(found);
    return new String(found, 0, Math.max(0, length), US_ASCII);
  }

  /** Returns whether the server has closed a connection . */
  private boolean isClosed(Socket socket) {
    try {
      socket.setSoTimeout(1);
      while (socket.getInputStream().read() >= 0) {
        // Only the end matters.
      }
      return true;
    } catch (SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
