package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.grpc.GrpcInferenceProtocol;
import io.vertigrad.serving.grpc.Messages;
import io.vertigrad.training.NewestParameters.Version;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Asks a port by the bytes of gRPC, also as no client of gRPC would. */
@Timeout(60)
class GrpcPortTest {

  private static final String SERVICE = "/inference.GRPCInferenceService/";
  private static final String HEALTH = "/grpc.health.v1.Health/";
  private static final String TOKEN = "0123456789abcdef";
  private static final int OK = 0;
  private static final int INVALID_ARGUMENT = 3;
  private static final int DEADLINE_EXCEEDED = 4;
  private static final int NOT_FOUND = 5;
  private static final int RESOURCE_EXHAUSTED = 8;
  private static final int UNIMPLEMENTED = 12;
  private static final int UNAVAILABLE = 14;
  private static final int UNAUTHENTICATED = 16;

  private final Vertx vertx = Vertx.vertx();
  private final CountDownLatch parameters = new CountDownLatch(1);
  private final CountDownLatch passes = new CountDownLatch(1);
  private final RequestMemory memory = new RequestMemory(64 << 20);
  private final HttpClient client =
      vertx.createHttpClient(
          new HttpClientOptions()
              .setProtocolVersion(HttpVersion.HTTP_2)
              .setHttp2ClearTextUpgrade(false));
  private Predictor predictor;
  private InferenceService service;
  private InferenceProtocol.Port port;

  /** A model that answers with its inputs, once it has parameters. */
  private final class EchoModel implements ServedModel {

    @Override
    public SampleFormat format() {
      return new SampleFormat(
          "echo",
          List.of(2),
          Targets.values(2),
          0,
          List.of(),
          Optional.empty(),
          Optional.empty(),
          List.of(),
          Treatment.ON_BLACK);
    }

    @Override
    public Optional<Version> load(long after, BooleanSupplier stop) {
      return after < 0 && parameters.getCount() == 0
          ? Optional.of(new Version(7, 7))
          : Optional.empty();
    }

    @Override
    public long loadedMillis() {
      return System.currentTimeMillis();
    }

    @Override
    public float[] outputs(int count, float[] inputs) {
      try {
        assertTrue(passes.await(60, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return inputs.clone();
    }

    @Override
    public void wake() {
      // Nothing waits.
    }

    @Override
    public void close() {
      // Nothing to close.
    }
  }

  /**
   * An answer.
   *
   * @param http status of HTTP
   * @param status status of gRPC, -1 if there is none
   * @param message the status's text
   * @param body message with its prefix; empty if there is none
   */
  private record Answer(int http, int status, String message, Buffer body) {

    DynamicMessage as(String type) throws Exception {
      assertEquals(OK, status, message);
      return DynamicMessage.parseFrom(Messages.type(type), body.getBytes(5, body.length()));
    }
  }

  @AfterEach
  void close() throws Exception {
    passes.countDown();
    get(port.close());
    predictor.close();
    get(client.close());
    get(vertx.close());
  }

  private void start(BearerTokens tokens) throws Exception {
    JobConfig job =
        JobConfig.read(
            "test",
            JsonObject.of("serving", JsonObject.of("port", 0, "queue", 4, "maxBytes", 8_000_000)));
    predictor = Predictor.holding(job.serving(), "echo", "a1", event -> {}, EchoModel::new);
    predictor.opened().get(20, TimeUnit.SECONDS);
    service =
        new InferenceService(
            vertx, memory, job.serving().http(), ModelRepository.of(predictor), tokens);
    port = get(new GrpcInferenceProtocol().listen(service, 0));
  }

  private void startReady() throws Exception {
    parameters.countDown();
    start(BearerTokens.NONE);
    predictor.ready().get(20, TimeUnit.SECONDS);
  }

  @Test
  void shouldAnswerInTheFormOfTheRequest() throws Exception {
    passes.countDown();
    startReady();

    DynamicMessage raw = ask("ModelInfer", infer(true, 1.5f, 2)).as("ModelInferResponse");
    DynamicMessage typed = ask("ModelInfer", infer(false, 1.5f, 2)).as("ModelInferResponse");

    assertEquals(
        List.of(ByteString.copyFrom(floats(1.5f, 2))), Messages.get(raw, "raw_output_contents"));
    assertTrue(typed.toString().contains("fp32_contents: 1.5"), typed::toString);
    assertEquals("7", Messages.get(typed, "model_version"));
    assertTrue(
        (boolean)
            Messages.get(
                ask("ModelReady", named("ModelReadyRequest", "echo")).as("ModelReadyResponse"),
                "ready"));
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldReportThatItIsReadyWhenThereAreParameters() throws Exception {
    start(BearerTokens.NONE);
    BlockingQueue<Buffer> states = new LinkedBlockingQueue<>();
    HttpClientRequest watch = get(client.request(options(HEALTH + "Watch")));
    watch.response().onSuccess(response -> response.handler(states::add));
    watch.end(prefixed(new byte[0]));

    assertEquals(
        Buffer.buffer(new byte[] {0, 0, 0, 0, 2, 8, 2}), states.poll(20, TimeUnit.SECONDS));
    assertEquals(UNAVAILABLE, ask("ModelInfer", infer(true, 1, 2)).status());
    assertEquals(false, ready());
    parameters.countDown();

    assertEquals(
        Buffer.buffer(new byte[] {0, 0, 0, 0, 2, 8, 1}), states.poll(20, TimeUnit.SECONDS));
    assertEquals(true, ready());
    watch.reset(8);
  }

  private Object ready() throws Exception {
    return Messages.get(ask("ServerReady", new byte[0]).as("ServerReadyResponse"), "ready");
  }

  @Test
  void shouldAskForATokenWhenTheServerHasTokens() throws Exception {
    parameters.countDown();
    passes.countDown();
    start(BearerTokens.read("test", TOKEN));
    predictor.ready().get(20, TimeUnit.SECONDS);

    Answer without = ask("ModelInfer", infer(true, 1, 2));
    Answer other =
        ask(
            options(SERVICE + "ModelInfer").putHeader("authorization", "Bearer 0123456789abcdeF"),
            prefixed(infer(true, 1, 2)));
    Answer with =
        ask(
            options(SERVICE + "ModelInfer").putHeader("authorization", "Bearer " + TOKEN),
            prefixed(infer(true, 1, 2)));

    assertEquals(UNAUTHENTICATED, without.status());
    assertTrue(without.message().contains("expected Bearer and a token"), without.message());
    assertEquals(UNAUTHENTICATED, other.status());
    assertEquals(OK, with.status());
    assertEquals(UNAUTHENTICATED, ask("ServerMetadata", new byte[0]).status());
    assertEquals(OK, ask(options(HEALTH + "Check"), prefixed(new byte[0])).status());
    assertEquals(OK, ask("ServerReady", new byte[0]).status());
  }

  @Test
  void shouldKeepTheMemoryOfARequestUntilItIsComputedWhenItsDeadlineHasPassed() throws Exception {
    startReady();

    Answer late =
        ask(
            options(SERVICE + "ModelInfer").putHeader("grpc-timeout", "200m"),
            prefixed(infer(true, 1, 2)));

    assertEquals(DEADLINE_EXCEEDED, late.status());
    assertTrue(memory.held() > 0);
    passes.countDown();
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldRefuseWhenTooManySamplesWait() throws Exception {
    startReady();
    List<Future<Answer>> waiting =
        IntStream.range(0, 12)
            .mapToObj(i -> asked(options(SERVICE + "ModelInfer"), prefixed(infer(true, 1, 2))))
            .toList();

    Awaitility.await().until(() -> waiting.stream().anyMatch(Future::isComplete));
    passes.countDown();
    get(Future.join(waiting));

    List<Answer> answers = waiting.stream().map(Future::result).toList();
    assertTrue(answers.stream().anyMatch(answer -> answer.status() == OK));
    Answer refused =
        answers.stream().filter(answer -> answer.status() != OK).findFirst().orElseThrow();
    assertEquals(UNAVAILABLE, refused.status());
    assertTrue(refused.message().contains("serving.queue"), refused.message());
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldRefuseLargeRequestsWhenOthersHoldTheMemory() throws Exception {
    passes.countDown();
    startReady();
    HttpClientRequest slow = get(client.request(options(SERVICE + "ModelInfer")));
    slow.setChunked(true);
    slow.response();
    get(slow.write(Buffer.buffer().appendByte((byte) 0).appendInt(7_000_000)));
    get(slow.write(Buffer.buffer(new byte[3_000_000])));
    Awaitility.await().until(() -> memory.held() > 6_000_000);

    Answer large = ask(options(SERVICE + "ModelInfer"), prefixed(new byte[1_500_000]));
    Answer small = ask("ModelInfer", infer(true, 1, 2));

    assertEquals(UNAVAILABLE, large.status());
    assertTrue(large.message().contains("requests hold"), large.message());
    assertEquals(OK, small.status(), small.message());
    slow.reset(8);
    Awaitility.await().until(() -> memory.held() == 0);
  }

  private static byte[] packed(byte[] message) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(message);
    }
    return packed.toByteArray();
  }

  @Test
  void shouldRefuseWhatIsNoCall() throws Exception {
    passes.countDown();
    startReady();
    byte[] request = infer(true, 1, 2);

    assertRefused(
        RESOURCE_EXHAUSTED,
        "serving.maxBytes",
        ask(options(SERVICE + "ModelInfer"), Buffer.buffer(new byte[] {0, 127, 0, 0, 0, 1})));
    assertRefused(
        INVALID_ARGUMENT,
        "expected the header grpc-encoding",
        ask(options(SERVICE + "ModelInfer"), prefixed(request).setByte(0, (byte) 1)));
    assertRefused(
        UNIMPLEMENTED,
        "grpc-encoding: is br",
        ask(
            options(SERVICE + "ModelInfer").putHeader("grpc-encoding", "br"),
            prefixed(request).setByte(0, (byte) 1)));
    assertRefused(
        INVALID_ARGUMENT,
        "is not one whole gzip file",
        ask(
            options(SERVICE + "ModelInfer").putHeader("grpc-encoding", "gzip"),
            prefixed(request).setByte(0, (byte) 1)));
    Buffer behind = Buffer.buffer(packed(request)).appendBytes(new byte[8]);
    behind.appendUnsignedIntLE(request.length);
    assertRefused(
        INVALID_ARGUMENT,
        "is not one whole gzip file, which grpc-encoding says it is",
        ask(
            options(SERVICE + "ModelInfer").putHeader("grpc-encoding", "gzip"),
            prefixed(behind.getBytes()).setByte(0, (byte) 1)));
    assertRefused(
        INVALID_ARGUMENT, "has no message", ask(options(SERVICE + "ModelInfer"), Buffer.buffer()));
    assertRefused(
        INVALID_ARGUMENT,
        "has a second message",
        ask(options(SERVICE + "ModelInfer"), prefixed(request).appendBuffer(prefixed(request))));
    assertRefused(UNIMPLEMENTED, "there is no such method", ask("ModelStreamInfer", request));
    assertRefused(
        UNIMPLEMENTED, "neither loaded nor unloaded", ask("RepositoryIndex", new byte[0]));
    assertRefused(
        NOT_FOUND,
        "\"other\" is not served here, expected \"echo\"",
        ask("ModelMetadata", named("ModelMetadataRequest", "other")));
    assertEquals(
        403,
        ask(
                options(SERVICE + "ServerLive").putHeader("origin", "http://a.example"),
                prefixed(new byte[0]))
            .http());
    assertEquals(
        415,
        ask(
                options(SERVICE + "ServerLive").putHeader("content-type", "application/grpc-web"),
                prefixed(new byte[0]))
            .http());
    assertEquals(OK, ask("ModelInfer", request).status());
    Awaitility.await().until(() -> memory.held() == 0);
  }

  private static void assertRefused(int status, String part, Answer answer) {
    assertEquals(status, answer.status(), answer.message());
    assertTrue(answer.message().contains(part), answer.message());
  }

  @Test
  void shouldSayThatThePortIsTakenWhenAnotherHasIt() throws Exception {
    startReady();
    Vertx other = Vertx.vertx();
    try {
      InferenceService same =
          new InferenceService(
              other,
              memory,
              predictor.config().http(),
              ModelRepository.of(predictor),
              BearerTokens.NONE);

      ExecutionException why =
          assertThrows(
              ExecutionException.class,
              () -> get(new GrpcInferenceProtocol().listen(same, port.number())));

      assertEquals(
          "port %s of 127.0.0.1 is taken, expected a free one; 0 takes any"
              .formatted(port.number()),
          why.getCause().getMessage());
    } finally {
      get(other.close());
    }
  }

  private static byte[] named(String type, String name) {
    return Messages.message(type, request -> Messages.set(request, "name", name));
  }

  private static byte[] infer(boolean raw, float... values) {
    return Messages.message(
        "ModelInferRequest",
        request -> {
          Messages.set(request, "model_name", "echo");
          Messages.add(
              request,
              "inputs",
              tensor -> {
                Messages.set(tensor, "name", "input");
                Messages.set(tensor, "datatype", "FP32");
                Messages.append(tensor, "shape", (long) values.length / 2);
                Messages.append(tensor, "shape", 2L);
                if (!raw) {
                  Messages.set(
                      tensor,
                      "contents",
                      contents -> {
                        for (float value : values) {
                          Messages.append(contents, "fp32_contents", value);
                        }
                      });
                }
              });
          if (raw) {
            Messages.append(request, "raw_input_contents", ByteString.copyFrom(floats(values)));
          }
        });
  }

  private static byte[] floats(float... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Float.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  private static Buffer prefixed(byte[] message) {
    return Buffer.buffer().appendByte((byte) 0).appendInt(message.length).appendBytes(message);
  }

  private RequestOptions options(String path) {
    return new RequestOptions()
        .setMethod(HttpMethod.POST)
        .setHost("127.0.0.1")
        .setPort(port.number())
        .setURI(path)
        .putHeader("content-type", "application/grpc")
        .putHeader("te", "trailers");
  }

  private Answer ask(String method, byte[] message) throws Exception {
    return ask(options(SERVICE + method), prefixed(message));
  }

  private Answer ask(RequestOptions options, Buffer body) throws Exception {
    return get(asked(options, body));
  }

  private Future<Answer> asked(RequestOptions options, Buffer body) {
    // Nested: a body that is asked for after it has arrived never comes.
    return client
        .request(options)
        .compose(
            request ->
                request
                    .send(body)
                    .compose(response -> response.body().map(all -> answer(response, all))));
  }

  private static Answer answer(HttpClientResponse response, Buffer all) {
    String status =
        Optional.ofNullable(response.getTrailer("grpc-status"))
            .orElse(response.getHeader("grpc-status"));
    String message =
        Optional.ofNullable(response.getTrailer("grpc-message"))
            .orElse(response.getHeader("grpc-message"));
    return new Answer(
        response.statusCode(),
        status == null ? -1 : Integer.parseInt(status),
        message == null
            ? ""
            : URLDecoder.decode(message.replace("+", "%2B"), StandardCharsets.UTF_8),
        all);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }
}
