package io.vertigrad.serving.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Tokenizer;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.compute.data.files.TextProvider;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.NewestParameters.Version;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Asks a model that repeats one text to go on with a part of it. */
@Timeout(60)
class TextGenerationTest {

  private static final String TEXT = "aé€😀";
  private static final int LENGTH = 4;
  private static final int BYTES = 256;
  private static final int MANY = 1_000_000;

  private final Vertx vertx = Vertx.vertx();
  private final HttpClient client = HttpClient.newHttpClient();
  private final Semaphore passes = new Semaphore(0);
  private final AtomicInteger passed = new AtomicInteger();
  private final AtomicLong versions = new AtomicLong(7);
  private Predictor predictor;
  private InferenceServer server;
  private RequestMemory memory;

  /**
   * Puts out the byte behind each byte of the text.
   *
   * @param format of a text
   */
  private final class RepeatingModel implements ServedModel {

    private final SampleFormat format;
    private long version;

    RepeatingModel(SampleFormat format) {
      this.format = format;
    }

    @Override
    public SampleFormat format() {
      return format;
    }

    @Override
    public Optional<Version> load(long after, BooleanSupplier stop) {
      version = versions.get();
      return version > after ? Optional.of(new Version(version, version)) : Optional.empty();
    }

    @Override
    public long loadedMillis() {
      return System.currentTimeMillis();
    }

    @Override
    public float[] outputs(int count, float[] inputs) {
      passes.acquireUninterruptibly();
      passed.incrementAndGet();
      byte[] bytes = TEXT.getBytes(UTF_8);
      int positions = format.targets().positions();
      float[] outputs = new float[count * positions * BYTES];
      for (int i = 0; i < count * positions; i++) {
        byte last = (byte) inputs[positions == 1 ? i * LENGTH + LENGTH - 1 : i];
        int at = 0;
        while (at < bytes.length && bytes[at] != last) {
          at++;
        }
        outputs[i * BYTES + (bytes[(at + 1) % bytes.length] & 0xFF)] = last == 'n' ? Float.NaN : 1;
      }
      return outputs;
    }

    @Override
    public void wake() {
      passes.release(MANY);
    }

    @Override
    public void close() {
      // Nothing to close.
    }
  }

  @AfterEach
  void close() throws Exception {
    predictor.close();
    get(vertx.close());
  }

  @Test
  void shouldSendOnlyWholeCharactersWhenTokensAreBytes() throws Exception {
    start(true, new JsonObject());
    passes.release(MANY);

    HttpResponse<String> answer =
        ask("generate_stream", "{\"text_input\":\"a\",\"max_tokens\":11}");

    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(
        "text/event-stream; charset=utf-8", answer.headers().firstValue("Content-Type").get());
    List<JsonObject> events = events(answer.body());
    assertEquals(
        List.of("é", "€", "😀", "a", "\uFFFD"),
        events.stream().map(event -> event.getString("text_output")).toList());
    assertEquals(
        List.of(false, false, false, false, true),
        events.stream().map(event -> event.getBoolean("done")).toList());
    assertEquals(
        JsonObject.of(
            "model_name", "fake", "model_version", "7", "text_output", "é", "done", false),
        events.get(0));
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldAnswerOnceWhenNoStreamIsAskedFor() throws Exception {
    start(false, new JsonObject());
    passes.release(MANY);

    HttpResponse<String> answer =
        ask("versions/7/generate", "{\"text_input\":\"....😀\",\"parameters\":{\"max_tokens\":6}}");

    assertEquals(200, answer.statusCode(), answer::body);
    assertEquals(
        JsonObject.of("model_name", "fake", "model_version", "7", "text_output", "aé€"),
        new JsonObject(answer.body()));
    assertEquals(404, ask("versions/6/generate", "{\"text_input\":\"abcd\"}").statusCode());
    assertEquals(404, ask("versions/6/generate_stream", "{\"text_input\":\"abcd\"}").statusCode());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"text_input\":\"abc\"} | text_input: has 3 tokens, expected at least the 4 that the model takes (data.length, with data.predict next)",
        "{} | text_input: is null, expected a text",
        "{\"text_input\":3} | text_input: is 3, expected a text",
        "[] | body: is not a JSON object: is an array",
        "{\"text_input\":\"abcd\",\"max_tokens\":4097} | max_tokens: is 4097, expected a whole number from 1 to 4096",
        "{\"text_input\":\"abcd\",\"max_tokens\":0} | max_tokens: is 0, expected a whole number from 1 to 4096",
        "{\"text_input\":\"abcd\",\"parameters\":{\"max_tokens\":1.5}} | parameters.max_tokens: is 1.5, expected a whole number from 1 to 4096",
        "{\"text_input\":\"abcd\",\"parameters\":{\"temperature\":-1}} | parameters.temperature: is -1, expected a number of at least 0",
        "{\"text_input\":\"abcd\",\"temperature\":\"1\"} | temperature: is \"1\", expected a number of at least 0",
        "{\"text_input\":\"abcd\",\"top_k\":0} | top_k: is 0, expected a whole number from 1 to 2147483647",
        "{\"text_input\":\"abcd\",\"seed\":true} | seed: is true, expected a whole number from -9223372036854775808 to 9223372036854775807",
        "{\"text_input\":\"abcd\",\"parameters\":[]} | parameters: is an array, expected an object",
        "{\"text_input\":\"abcd\",\"top_p\":0.5} | top_p: is not known here, expected only max_tokens, temperature, top_k and seed",
        "{\"text_input\":\"abcd\"} 1 | body: has 1 behind its JSON object, expected its end"
      })
  void shouldRefuseARequestWhenAValueIsWrong(String body, String message) throws Exception {
    start(false, new JsonObject());

    HttpResponse<String> answer = ask("generate_stream", body);

    assertEquals(message, new JsonObject(answer.body()).getString("error"));
    assertEquals(400, answer.statusCode());
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldIgnoreOtherParameters() throws Exception {
    start(true, new JsonObject());
    passes.release(MANY);

    HttpResponse<String> answer =
        ask(
            "generate",
            "{\"text_input\":\"a\",\"max_tokens\":2,\"seed\":null,\"parameters\":{\"stream\":false,\"top_p\":null}}");

    assertEquals("é", new JsonObject(answer.body()).getString("text_output"), answer::body);
  }

  @Test
  void shouldSendEachTokenBeforeTheNextIsComputed() throws Exception {
    start(true, new JsonObject());
    Socket socket = stream("a", 100);

    passes.release(2);
    String first = readUntil(socket, "}\n\n");
    passes.release(3);
    String second = readUntil(socket, "}\n\n");

    assertTrue(first.contains("\"text_output\":\"é\""), first);
    assertTrue(second.contains("\"text_output\":\"€\""), second);
    socket.close();
  }

  @Test
  void shouldStopWhenThePeerHasGone() throws Exception {
    start(true, new JsonObject());
    Socket socket = stream("a", 4_096);
    passes.release(20);
    readUntil(socket, "}\n\n");
    Awaitility.await().until(() -> passed.get() == 20);

    socket.close();
    passes.release(1);
    Awaitility.await()
        .until(
            () -> {
              passes.release(1);
              return memory.held() == 0;
            });

    int most = passed.get();
    assertTrue(most < 4_096, () -> most + " passes");
    passes.release(MANY);
    assertEquals(200, ask("generate", "{\"text_input\":\"a\",\"max_tokens\":1}").statusCode());
    assertEquals(most + 1, passed.get(), "nothing is computed for the peer that has gone");
  }

  @Tag("slow")
  @Test
  void shouldComputeNoFurtherWhileThePeerDoesNotRead() throws Exception {
    start(true, new JsonObject(), false, new LongTokens());
    try (Socket socket = new Socket()) {
      socket.setReceiveBufferSize(4_096);
      connect(socket);
      send(socket, "generate_stream", "a", 1_500);
      passes.release(MANY);
      AtomicInteger before = new AtomicInteger(-1);
      Awaitility.await()
          .pollInterval(Duration.ofMillis(500))
          .until(() -> before.getAndSet(passed.get()) == passed.get());

      int waiting = passed.get();
      String all = new String(socket.getInputStream().readAllBytes(), UTF_8);

      assertTrue(waiting < 1_400, () -> waiting + " tokens");
      assertEquals(1_500, passed.get());
      assertEquals(1_500, all.lines().filter(line -> line.startsWith("data: ")).count());
      assertTrue(all.contains("\"done\":true"));
    }
  }

  /** Tokens of many characters, which fill the buffers between a server and its peer. */
  private static final class LongTokens implements Tokenizer {

    @Override
    public int size() {
      return BYTES;
    }

    @Override
    public int[] tokens(String origin, String text) {
      return new int[] {'a'};
    }

    @Override
    public byte[] bytes(int id, boolean first) {
      return "long ".repeat(2_000).getBytes(UTF_8);
    }
  }

  @Test
  void shouldComputeSeveralTextsTogether() throws Exception {
    start(true, new JsonObject());
    HttpRequest request = request("generate_stream", "{\"text_input\":\"a\",\"max_tokens\":9}");
    List<CompletableFuture<HttpResponse<String>>> asked = new ArrayList<>();
    asked.add(client.sendAsync(request, BodyHandlers.ofString()));
    Awaitility.await().until(passes::hasQueuedThreads);
    for (int i = 1; i < 8; i++) {
      asked.add(client.sendAsync(request, BodyHandlers.ofString()));
    }
    Awaitility.await().until(() -> predictor.progress().waiting() == 7);
    passes.release(MANY);

    for (CompletableFuture<HttpResponse<String>> each : asked) {
      String text =
          events(each.get(20, TimeUnit.SECONDS).body()).stream()
              .map(event -> event.getString("text_output"))
              .collect(Collectors.joining());
      assertEquals("é€😀", text);
    }
    assertTrue(passed.get() < 8 * 9, () -> passed + " passes");
  }

  @Test
  void shouldRefuseATextWhenTooManyAreContinuedAndFinishThoseThatHaveBegun() throws Exception {
    start(true, JsonObject.of("queue", 1, "maxBatch", 1));
    Socket first = stream("a", 9);
    Awaitility.await().until(passes::hasQueuedThreads);

    HttpResponse<String> second = ask("generate", "{\"text_input\":\"a\",\"max_tokens\":1}");
    passes.release(MANY);
    String all = readUntil(first, "\"done\":true}\n\n");

    assertEquals(503, second.statusCode());
    assertTrue(second.body().contains("serving.queue"), second::body);
    assertEquals("1", second.headers().firstValue("Retry-After").orElse(""));
    assertFalse(all.contains("error"), all);
    assertEquals(200, ask("generate", "{\"text_input\":\"a\",\"max_tokens\":1}").statusCode());
    first.close();
  }

  @Test
  void shouldSendAnErrorAsAnEventWhenItComesAfterTheFirstToken() throws Exception {
    start(true, new JsonObject());
    passes.release(2);
    Socket socket = stream("a", 4_000);
    String first = readUntil(socket, "}\n\n");
    CompletableFuture<Void> closing = CompletableFuture.runAsync(predictor::close);

    String rest = readUntil(socket, "}\n\n\r\n0\r\n");

    closing.get(20, TimeUnit.SECONDS);
    assertTrue(first.startsWith("HTTP/1.1 200 "), first);
    assertTrue(rest.contains("data: {\"error\":\"the predictor is being stopped\"}"), rest);
  }

  @Test
  void shouldDrawEachTokenFromTheNewestVersionUnlessOneIsAskedFor() throws Exception {
    start(true, new JsonObject(), true, bytes());
    Socket any = stream("generate_stream", "a", 200);
    Awaitility.await().until(passes::hasQueuedThreads);
    Socket pinned = stream("versions/7/generate_stream", "a", 200);
    Awaitility.await().until(() -> predictor.progress().waiting() == 1);
    passes.release(6);
    String before = readUntil(any, "}\n\n") + readUntil(pinned, "}\n\n");
    versions.set(8);
    Awaitility.await().until(() -> predictor.version() == 8);
    passes.release(MANY);

    String newest = readUntil(any, "\"done\":true}\n\n");
    String refused = readUntil(pinned, "}\n\n\r\n0\r\n");

    assertEquals(2, before.split("\"model_version\":\"7\"", -1).length - 1, before);
    assertTrue(newest.contains("\"model_version\":\"8\""), newest);
    assertTrue(
        refused.contains(
            "data: {\"error\":\"model \\\"fake\\\": version 7 is not served, expected 8, or none\"}"),
        refused);
  }

  @Test
  void shouldFailWhenAnOutputIsNotFinite() throws Exception {
    start(true, new JsonObject());
    passes.release(MANY);

    HttpResponse<String> answer = ask("generate_stream", "{\"text_input\":\"n\"}");

    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("has diverged"), answer::body);
  }

  @Test
  void shouldNameTheExtensionAndRefuseOtherMethodsAndBodies() throws Exception {
    start(true, new JsonObject());

    JsonObject described =
        new JsonObject(
            client
                .send(
                    HttpRequest.newBuilder(URI.create(server.url()).resolve("/v2")).build(),
                    BodyHandlers.ofString())
                .body());
    int get =
        client
            .send(
                HttpRequest.newBuilder(URI.create(server.url() + "/generate_stream")).build(),
                BodyHandlers.discarding())
            .statusCode();
    int picture =
        client
            .send(
                HttpRequest.newBuilder(URI.create(server.url() + "/generate"))
                    .header("Content-Type", "image/png")
                    .POST(BodyPublishers.ofString("{}"))
                    .build(),
                BodyHandlers.discarding())
            .statusCode();

    assertEquals(
        "[\"binary_tensor_data\",\"generate\"]", described.getJsonArray("extensions").encode());
    assertEquals(405, get);
    assertEquals(415, picture);
  }

  /** Serves a model with an output at each position, or one for the whole window. */
  private void start(boolean each, JsonObject serving) throws Exception {
    start(each, serving, false, bytes());
  }

  private static Tokenizer bytes() {
    return new TextProvider()
        .tokenizer(new DataConfig("text", Optional.empty(), Optional.empty(), Map.of()))
        .orElseThrow();
  }

  private void start(boolean each, JsonObject serving, boolean following, Tokenizer tokenizer)
      throws Exception {
    JobConfig job = JobConfig.read("test", new JsonObject().put("serving", serving.put("port", 0)));
    SampleFormat format =
        new SampleFormat(
            "text",
            List.of(LENGTH),
            Targets.classes(BYTES, each ? LENGTH : 1),
            BYTES,
            List.of(),
            Optional.of(tokenizer),
            Optional.empty(),
            List.of(),
            Treatment.ON_BLACK);
    ServedModel.Opening opening = () -> new RepeatingModel(format);
    predictor =
        following
            ? Predictor.following(job.serving(), "fake", "a1", event -> {}, opening)
            : Predictor.holding(job.serving(), "fake", "a1", event -> {}, opening);
    predictor.ready().join();
    memory = new RequestMemory(1 << 28);
    server =
        new InferenceServer(
            vertx,
            memory,
            job.serving().http(),
            ModelRepository.of(predictor),
            BearerTokens.NONE,
            System::nanoTime);
    get(server.open());
  }

  private HttpRequest request(String path, String body) {
    return HttpRequest.newBuilder(URI.create(server.url() + "/" + path))
        .POST(BodyPublishers.ofString(body))
        .build();
  }

  private HttpResponse<String> ask(String path, String body) throws Exception {
    return client.send(request(path, body), BodyHandlers.ofString());
  }

  private static List<JsonObject> events(String body) {
    return body.lines()
        .filter(line -> !line.isEmpty())
        .map(line -> new JsonObject(line.substring("data: ".length())))
        .toList();
  }

  private Socket stream(String text, int tokens) throws Exception {
    return stream("generate_stream", text, tokens);
  }

  private Socket stream(String path, String text, int tokens) throws Exception {
    Socket socket = new Socket();
    connect(socket);
    send(socket, path, text, tokens);
    return socket;
  }

  private void connect(Socket socket) throws Exception {
    socket.setSoTimeout(20_000);
    socket.connect(new InetSocketAddress("127.0.0.1", URI.create(server.url()).getPort()));
  }

  private static void send(Socket socket, String path, String text, int tokens) throws Exception {
    String body = "{\"text_input\":\"%s\",\"max_tokens\":%d}".formatted(text, tokens);
    socket
        .getOutputStream()
        .write(
            ("POST /v2/models/fake/"
                    + path
                    + " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + "Connection: close\r\nContent-Length: %d\r\n\r\n%s"
                        .formatted(body.length(), body))
                .getBytes(UTF_8));
  }

  private static String readUntil(Socket socket, String end) throws Exception {
    InputStream in = socket.getInputStream();
    byte[] found = new byte[1 << 20];
    int count = 0;
    while (!new String(found, 0, count, UTF_8).contains(end)) {
      int next = in.read();
      if (next < 0) {
        break;
      }
      found[count++] = (byte) next;
    }
    return new String(found, 0, count, UTF_8);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
