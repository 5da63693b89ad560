package io.vertigrad.serving.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.files.ImageFile;
import io.vertigrad.http.HttpConnections;
import io.vertigrad.http.HttpConnections.Open;
import io.vertigrad.http.HttpConnections.Phase;
import io.vertigrad.http.OwnOrigin;
import io.vertigrad.job.ServingConfig.Http;
import io.vertigrad.serving.internal.InferenceRequest.Form;
import io.vertigrad.serving.internal.InferenceRequest.Response;
import io.vertigrad.serving.internal.ModelRepository.Lease;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertigrad.serving.internal.RequestMemory.Share;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.zip.GZIPOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers over HTTP by the Open Inference Protocol, version 2, with its extensions for binary data
 * and for texts, and for images. Connections and answers belong to an event loop of its own, which
 * the job's members do not use; large bodies are decoded, and large answers encoded, on worker
 * threads.
 */
final class InferenceServer {

  private static final Logger LOG = LoggerFactory.getLogger(InferenceServer.class);

  /** Most connections of a predictor that are in service. */
  static final int MOST_CONNECTIONS = 256;

  private static final int CLOSE_MILLIS = 2_000;
  private static final int HANDSHAKE_SECONDS = 5;
  private static final long LOOK_MILLIS = 1_000;

  /** Bodies up to this size are decoded on the event loop: another thread would take longer. */
  static final int SMALL_BODY = 1 << 16;

  /** Most requests that are decoded or wait for that: the others keep connections free. */
  static final int MOST_DECODING = 64;

  /** Memory of one byte of a text while it is decoded: as a character, and as a token twice. */
  private static final long CHARACTER_BYTES = 2L + 2 * Integer.BYTES;

  /** Outputs up to this number are encoded on the event loop. */
  static final int SMALL_ANSWER = 1 << 14;

  private static final int OK = 200;
  private static final int FORBIDDEN = 403;
  private static final int BAD_METHOD = 405;
  private static final int UNAVAILABLE = 503;
  private static final String LENGTH = "Inference-Header-Content-Length";
  private static final String TYPE = "Content-Type";
  private static final String AUTHORIZATION = "Authorization";
  private static final String HEALTH = "v2/health/";
  private static final String LOAD = "load";
  private static final String GENERATE = "generate";
  private static final String STREAM = "generate_stream";
  private static final String JSON = "application/json";
  private static final int MOST_SHOWN = 200;

  /** Smaller answers are not compressed. */
  private static final int LEAST_COMPRESSED = 128;

  private static final String VERSION = readVersion();

  private final Vertx vertx;
  private final Context loop;
  private final RequestMemory memory;
  private final Http http;
  private final ModelRepository models;
  private final BearerTokens tokens;
  private final OwnOrigin origin;
  private final HttpConnections connections;
  private HttpServer server;
  private long looking;

  /** Requests that are decoded on worker threads, or wait for them. */
  private int decoding;

  /** A request, and what it holds until it is answered: its memory, and the model that it asks. */
  private static final class Exchange {

    private final HttpServerRequest request;
    private final Open connection;
    private final Share share;
    private Optional<Lease> lease = Optional.empty();

    Exchange(HttpServerRequest request, Open connection, Share share) {
      this.request = request;
      this.connection = connection;
      this.share = share;
    }

    HttpServerRequest request() {
      return request;
    }

    /** Returns the connection that it came over. */
    Open connection() {
      return connection;
    }

    Share share() {
      return share;
    }

    /** Holds a model until this request is answered. */
    void hold(Lease held) {
      lease = Optional.of(held);
    }

    Optional<Lease> lease() {
      return lease;
    }

    /** Returns what answers, once a model is held. */
    Predictor predictor() {
      return lease.orElseThrow().predictor();
    }

    /** Gives everything back. */
    void release() {
      share.release();
      lease.ifPresent(Lease::release);
    }

    /** Returns whether the peer has sent all of the request. */
    boolean isReceived() {
      return request.isEnded()
          || request.getHeader("Transfer-Encoding") == null
              && List.of("", "0").contains(length().orElse(""));
    }

    /** Returns whether the peer reads compressed answers. */
    boolean readsGzip() {
      String[] codings =
          String.valueOf(request.getHeader("Accept-Encoding")).toLowerCase(Locale.ROOT).split(",");
      Optional<String> named =
          Arrays.stream(codings).filter(each -> each.strip().startsWith("gzip")).findFirst();
      Optional<String> any =
          Arrays.stream(codings).filter(each -> each.strip().startsWith("*")).findFirst();
      return named
          .or(() -> any)
          .filter(each -> !each.matches(".*;\\s*q=0(\\.0*)?\\s*"))
          .isPresent();
    }

    Optional<String> length() {
      return Optional.ofNullable(request.getHeader("Content-Length"));
    }
  }

  /**
   * Creates a server.
   *
   * @param vertx instance whose threads it uses; none of a job's members may run there
   * @param memory limits what requests hold
   * @param models what it answers with
   * @param tokens those that requests need
   * @param nanoTime time that its limits refer to, as {@code System.nanoTime()}
   */
  InferenceServer(
      Vertx vertx,
      RequestMemory memory,
      Http http,
      ModelRepository models,
      BearerTokens tokens,
      LongSupplier nanoTime) {
    this.vertx = vertx;
    this.loop = vertx.getOrCreateContext();
    this.memory = memory;
    this.connections = new HttpConnections(MOST_CONNECTIONS, nanoTime);
    this.http = http;
    this.models = models;
    this.tokens = tokens;
    this.origin = new OwnOrigin(http.host(), http.hosts(), "serving.hosts", List.of());
  }

  /**
   * Starts listening.
   *
   * @return fails with what to do if the port cannot be used, or would be open to everyone
   */
  Future<Void> open() {
    Promise<Void> opened = Promise.promise();
    loop.runOnContext(
        go ->
            loop.executeBlocking(this::checkHost, false)
                .compose(checked -> listen())
                .onSuccess(this::opened)
                .recover(why -> Future.failedFuture(explained(why)))
                .<Void>mapEmpty()
                .onComplete(opened));
    return opened.future();
  }

  private void opened(HttpServer open) {
    server = open;
    looking = vertx.setPeriodic(LOOK_MILLIS, tick -> connections.closeSlow());
  }

  /** Accepts no further connections, and closes the others when their requests are answered. */
  Future<Void> close() {
    if (server == null) {
      return Future.succeededFuture();
    }
    vertx.cancelTimer(looking);
    // Vert.x would wait for peers that do not read.
    loop.runOnContext(go -> vertx.setTimer(CLOSE_MILLIS, late -> connections.closeAll()));
    return server.shutdown(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Returns the server's address, without a path. */
  String address() {
    String host = http.host().contains(":") ? "[" + http.host() + "]" : http.host();
    return "%s://%s:%s".formatted(http.tls() ? "https" : "http", host, server.actualPort());
  }

  /** Returns the address of the first model. */
  String url() {
    return "%s/v2/models/%s".formatted(address(), models.names().get(0));
  }

  private Void checkHost() {
    boolean loopback;
    try {
      loopback = InetAddress.getByName(http.host()).isLoopbackAddress();
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(
          "serving.host %s: no such machine is known here, expected an address of this machine"
              .formatted(http.host()),
          e);
    }
    if (!loopback && !http.tls() && !http.insecure()) {
      throw new IllegalArgumentException(
          ("serving.host %s can be reached from other machines, and serving.certificate and"
                  + " serving.key are not set; set them, or accept that anyone on that network can"
                  + " ask with serving.insecure true")
              .formatted(http.host()));
    }
    return null;
  }

  private Future<HttpServer> listen() {
    HttpServerOptions options =
        HttpConnections.limited(options(http, http.port().orElseThrow()))
            // Netty answers no connection with 128 pipelined requests where it may compress.
            .setPerMessageWebSocketCompressionSupported(false)
            .setPerFrameWebSocketCompressionSupported(false);
    return vertx
        .createHttpServer(options)
        .connectionHandler(connections::add)
        .requestHandler(this::onRequest)
        .listen();
  }

  /** Returns where a port listens, and its certificates. */
  static HttpServerOptions options(Http http, int port) {
    HttpServerOptions options =
        new HttpServerOptions()
            .setHost(http.host())
            .setPort(port)
            .setSslHandshakeTimeout(HANDSHAKE_SECONDS)
            .setSslHandshakeTimeoutUnit(TimeUnit.SECONDS);
    if (http.tls()) {
      options
          .setSsl(true)
          .setKeyCertOptions(
              new PemKeyCertOptions()
                  .addCertPath(http.certificate().orElseThrow())
                  .addKeyPath(http.key().orElseThrow()));
      http.authority()
          .ifPresent(
              file ->
                  options
                      .setClientAuth(ClientAuth.REQUIRED)
                      .setTrustOptions(new PemTrustOptions().addCertPath(file)));
    }
    return options;
  }

  private Throwable explained(Throwable why) {
    return why instanceof BindException
        ? new IllegalArgumentException(
            "port %s of %s is taken, expected a free one: set serving.port (--serve PORT), 0 for any"
                .formatted(http.port().orElseThrow(), http.host()),
            why)
        : why;
  }

  /**
   * Handles a request once the answer to the one before it has left. Otherwise a peer that asks but
   * never reads would make answers wait here without limit. It is a task of its own, because Vert.x
   * handles pipelined requests in calls within each other, for which the stack may be too small.
   */
  private void onRequest(HttpServerRequest request) {
    Optional<Open> connection = connections.of(request.connection());
    if (connection.isEmpty()) {
      return;
    }
    request.pause();
    connection
        .get()
        .left()
        .onComplete(
            left ->
                loop.runOnContext(
                    go -> {
                      // A request of a closed connection would hold its model for good.
                      if (connections.of(request.connection()).isPresent()) {
                        handle(new Exchange(request, connection.get(), memory.share()));
                        request.resume();
                      }
                    }));
  }

  private void handle(Exchange exchange) {
    try {
      Optional<OwnOrigin.Refusal> foreign = origin.refusal(exchange.request());
      if (foreign.isPresent()) {
        throw new Refusal(
            foreign.get().status() == FORBIDDEN ? Code.FORBIDDEN : Code.INVALID,
            foreign.get().reason());
      }
      Optional<String> full = connections.refusal(exchange.request());
      if (full.isPresent()) {
        exchange.request().response().putHeader("Connection", "close");
        throw new Refusal(Code.OVERLOADED, full.get());
      }
      route(exchange);
    } catch (RuntimeException why) {
      refuse(exchange, why);
    }
  }

  private void route(Exchange exchange) {
    HttpServerRequest request = exchange.request();
    List<String> path =
        Arrays.stream(request.path().split("/")).filter(word -> !word.isEmpty()).toList();
    String whole = String.join("/", path);
    if (!whole.equals(HEALTH + "live") && !whole.equals(HEALTH + "ready")) {
      requireToken(request);
    }
    switch (whole) {
      case "v2" -> answer(exchange, OK, description(models));
      case HEALTH + "live" -> answer(exchange, OK, new JsonObject().put("live", true));
      case HEALTH + "ready" -> {
        boolean ready = models.isReady();
        answer(
            exchange,
            ready ? OK : UNAVAILABLE,
            new JsonObject().put("live", ready).put("ready", ready));
      }
      default -> {
        if (path.size() >= 3 && whole.startsWith("v2/models/")) {
          ofModel(exchange, path);
        } else if (models.isManaged() && whole.startsWith("v2/repository/")) {
          ofRepository(exchange, path.subList(2, path.size()));
        } else {
          throw noSuchPath(request, "one below /v2/models/" + shownNames());
        }
      }
    }
  }

  private void requireToken(HttpServerRequest request) {
    try {
      tokens.require(request.getHeader(AUTHORIZATION));
    } catch (Refusal why) {
      request.response().putHeader("WWW-Authenticate", "Bearer");
      throw why;
    }
  }

  /** Returns the name of the only model, or a word for several. */
  private String shownNames() {
    List<String> names = models.names();
    return names.size() == 1 ? names.get(0) : "NAME";
  }

  private static Refusal noSuchPath(HttpServerRequest request, String expected) {
    return new Refusal(
        Code.UNKNOWN,
        "%s: there is no such path, expected %s".formatted(shownPath(request), expected));
  }

  private void ofModel(Exchange exchange, List<String> path) {
    HttpServerRequest request = exchange.request();
    String name = path.get(2);
    boolean versioned = path.size() > 4 && path.get(3).equals("versions");
    OptionalLong version =
        versioned && path.get(4).matches("\\d{1,18}")
            ? OptionalLong.of(Long.parseLong(path.get(4)))
            : OptionalLong.empty();
    List<String> behind = path.subList(version.isPresent() ? 5 : 3, path.size());
    String last = behind.isEmpty() ? "" : behind.get(0);
    exchange.hold(models.lease(name, version));
    Predictor predictor = exchange.predictor();
    boolean infers = last.equals("infer");
    boolean asksReady = last.equals("ready");
    boolean streams = last.equals(STREAM);
    boolean generates =
        (streams || last.equals(GENERATE)) && predictor.format().tokenizer().isPresent();
    if (behind.size() > 1 || behind.size() == 1 && !infers && !asksReady && !generates) {
      throw new Refusal(
          Code.UNKNOWN,
          "%s: expected /v2/models/%s or /v2/models/%s/versions/NUMBER, and /ready or /infer behind it"
              .formatted(shownPath(request), name, name));
    }
    if (infers || generates) {
      if (requires(exchange, HttpMethod.POST)) {
        Form form = Form.of(request.headers());
        if (generates && (form.isPicture() || form.headerBytes().isPresent())) {
          throw new Refusal(
              Code.UNSUPPORTED, "body: is a picture or has binary data, expected " + JSON);
        }
        receive(
            exchange,
            body -> {
              if (generates) {
                decode(
                    exchange,
                    body,
                    form,
                    () -> decodedText(exchange, body, form),
                    text -> generate(exchange, text, version, streams));
              } else {
                decode(
                    exchange,
                    body,
                    form,
                    () -> decoded(exchange, body, form),
                    inputs -> predict(exchange, inputs, version));
              }
            });
      }
      return;
    }
    exchange.lease().orElseThrow().requireVersion(version);
    if (asksReady) {
      boolean ready = predictor.isReady();
      answer(
          exchange,
          ready ? OK : UNAVAILABLE,
          new JsonObject().put("name", name).put("ready", ready));
    } else {
      Lease lease = exchange.lease().orElseThrow();
      JsonObject metadata = InferenceRequest.metadata(name, lease.versions(), predictor.format());
      if (!lease.description().isEmpty()) {
        metadata.put("parameters", lease.description());
      }
      answer(exchange, OK, metadata);
    }
  }

  /** Answers a call of the model repository: {@code index}, or {@code models/NAME/load}. */
  private void ofRepository(Exchange exchange, List<String> path) {
    HttpServerRequest request = exchange.request();
    String last = path.get(path.size() - 1);
    boolean index = path.size() == 1 && last.equals("index");
    boolean changes =
        path.size() == 3
            && path.get(0).equals("models")
            && (last.equals(LOAD) || last.equals("unload"));
    if (!index && !changes) {
      throw noSuchPath(
          request, "/v2/repository/index, or load or unload behind /v2/repository/models/NAME/");
    }
    if (changes || !tokens.present()) {
      tokens.requireAdmin(request.getHeader(AUTHORIZATION));
    }
    if (!requires(exchange, HttpMethod.POST)) {
      return;
    }
    receive(
        exchange,
        body -> {
          try {
            boolean ready = RepositoryRequest.read(body.getBytes(), index).ready();
            if (index) {
              send(
                  exchange,
                  OK,
                  Body.of(exchange, models.index(ready).toBuffer(), OptionalInt.empty()));
              return;
            }
            String name = path.get(1);
            (last.equals(LOAD) ? models.load(name) : models.unload(name))
                .whenComplete(
                    (done, why) ->
                        loop.runOnContext(
                            go -> {
                              if (why == null) {
                                send(exchange, OK, new JsonObject());
                              } else {
                                refuse(
                                    exchange,
                                    why instanceof CompletionException ? why.getCause() : why);
                              }
                            }));
          } catch (RuntimeException why) {
            refuse(exchange, why);
          }
        });
  }

  private static String shownPath(HttpServerRequest request) {
    return SampleFormat.cut(request.path(), MOST_SHOWN);
  }

  private static boolean requires(Exchange exchange, HttpMethod expected) {
    HttpServerRequest request = exchange.request();
    if (request.method() == expected
        || request.method() == HttpMethod.HEAD && expected == HttpMethod.GET) {
      return true;
    }
    String allowed = expected == HttpMethod.GET ? "GET, HEAD" : expected.name();
    request.response().putHeader("Allow", allowed);
    error(
        exchange,
        BAD_METHOD,
        "%s %s: expected %s"
            .formatted(
                SampleFormat.cut(request.method().name(), MOST_SHOWN),
                shownPath(request),
                allowed));
    return false;
  }

  private static void answer(Exchange exchange, int status, JsonObject body) {
    if (requires(exchange, HttpMethod.GET)) {
      send(exchange, status, body);
    }
  }

  /** Describes a server. */
  static JsonObject description(ModelRepository models) {
    JsonArray extensions = JsonArray.of("binary_tensor_data");
    if (models.continuesTexts()) {
      extensions.add(GENERATE);
    }
    if (models.isManaged()) {
      extensions.add("model_repository");
    }
    return new JsonObject()
        .put("name", "vertigrad")
        .put("version", VERSION)
        .put("extensions", extensions);
  }

  /** Returns the project's version, which the build writes beside this class. */
  private static String readVersion() {
    Properties properties = new Properties();
    try (InputStream in = InferenceServer.class.getResourceAsStream("version.properties")) {
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Receives a body. Its size, its time, and the memory of all requests are limited. */
  private void receive(Exchange exchange, Consumer<Buffer> whole) {
    HttpServerRequest request = exchange.request();
    exchange.length().ifPresent(this::requireLength);
    exchange.connection().enter(Phase.BODY);
    if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      request.response().writeContinue();
    }
    Buffer body = Buffer.buffer();
    boolean[] receiving = {true};
    request.handler(
        chunk -> {
          if (receiving[0]) {
            try {
              requireSize((long) body.length() + chunk.length());
              // A buffer that grows is copied into one of twice its size.
              exchange.share().receive(2L * (body.length() + chunk.length()));
              body.appendBuffer(chunk);
            } catch (Refusal why) {
              receiving[0] = false;
              refuse(exchange, why);
            }
          }
        });
    // What is decoded or computed is held until that ends, also if the connection breaks then.
    request.exceptionHandler(
        broken -> {
          if (receiving[0]) {
            exchange.release();
          }
        });
    request.endHandler(
        all -> {
          if (receiving[0]) {
            receiving[0] = false;
            exchange.connection().enter(Phase.ANSWER);
            whole.accept(body);
          }
        });
  }

  private void requireLength(String length) {
    if (length.length() > 18 || !length.chars().allMatch(digit -> digit >= '0' && digit <= '9')) {
      throw tooLarge();
    }
    requireSize(length.isEmpty() ? 0 : Long.parseLong(length));
  }

  private void requireSize(long bytes) {
    if (bytes > http.maxBytes()) {
      throw tooLarge();
    }
  }

  private Refusal tooLarge() {
    return new Refusal(
        Code.TOO_LARGE,
        "body: has more than %s bytes, expected at most so many (serving.maxBytes)"
            .formatted(http.maxBytes()));
  }

  /** Decodes a body: on a worker thread if that may take long. */
  private <T> void decode(
      Exchange exchange, Buffer body, Form form, Callable<T> decoding, Consumer<T> decoded) {
    try {
      exchange.predictor().requireRoom();
      if (form.isPicture() || form.gzip() || body.length() > SMALL_BODY) {
        if (this.decoding == MOST_DECODING) {
          throw new Refusal(
              Code.OVERLOADED,
              "%s requests wait to be decoded already; try again later".formatted(MOST_DECODING));
        }
        this.decoding++;
        loop.executeBlocking(decoding, false)
            .onComplete(done -> this.decoding--)
            .onComplete(decoded::accept, why -> refuse(exchange, why));
      } else {
        decoded.accept(decoding.call());
      }
    } catch (Exception why) {
      refuse(exchange, why);
    }
  }

  /** Decodes a body; the request's share covers what that takes, and then what is left of it. */
  private InferenceRequest decoded(Exchange exchange, Buffer body, Form form) {
    if (exchange.request().response().closed()) {
      throw Refusal.invalid("request: its connection was closed");
    }
    SampleFormat format = exchange.predictor().format();
    Share share = exchange.share();
    byte[] content =
        form.content(body, http.maxBytes(), bytes -> share.resize(share.bytes() + bytes, "body"));
    InferenceRequest request;
    if (form.isPicture()) {
      if (format.isImage()) {
        share.resize(share.bytes() + pictureBytes(content), "image");
      }
      request = InferenceRequest.of(format.readImage(content), format);
    } else {
      request =
          InferenceRequest.read(
              content,
              form.headerBytes(),
              format,
              http.maxBytes(),
              bytes -> share.resize(share.bytes() + bytes, "inputs"));
    }
    int samples = request.inputs().length / format.inputs();
    share.resize(RequestMemory.answerBytes(samples, format), samples + " samples");
    return request;
  }

  private static long pictureBytes(byte[] file) {
    try {
      return ImageFile.decodingBytes("image", file);
    } catch (DataException wrong) {
      throw Refusal.invalid("%s", wrong.getMessage());
    }
  }

  private void predict(Exchange exchange, InferenceRequest request, OptionalLong version) {
    exchange
        .predictor()
        .predict(
            request.inputs(),
            version,
            false,
            (answer, why) ->
                loop.runOnContext(
                    go -> {
                      if (why != null) {
                        // Counted already.
                        send(exchange, why);
                      } else {
                        encode(exchange, request, answer);
                      }
                    }));
  }

  /** Decodes a text; the request's share then covers what each of its tokens takes. */
  private GenerateRequest decodedText(Exchange exchange, Buffer body, Form form) {
    Share share = exchange.share();
    byte[] content =
        form.content(body, http.maxBytes(), bytes -> share.resize(share.bytes() + bytes, "body"));
    share.resize(share.bytes() + CHARACTER_BYTES * content.length, "text_input");
    SampleFormat format = exchange.predictor().format();
    GenerateRequest request = GenerateRequest.read(content, format);
    share.resize(RequestMemory.answerBytes(1, format), "1 sample");
    return request;
  }

  private void generate(
      Exchange exchange, GenerateRequest request, OptionalLong version, boolean streams) {
    Predictor predictor = exchange.predictor();
    try {
      predictor.beginText();
    } catch (Refusal why) {
      refuse(exchange, why);
      return;
    }
    new TextGeneration(
            predictor,
            loop,
            request,
            version,
            streams ? new EventStream(exchange) : new WholeText(exchange))
        .next();
  }

  /** A peer that gets a text when it is complete. */
  private class WholeText implements TextGeneration.Reader {

    final Exchange exchange;
    final HttpServerResponse response;
    private final StringBuilder text = new StringBuilder();

    WholeText(Exchange exchange) {
      this.exchange = exchange;
      this.response = exchange.request().response();
    }

    @Override
    public boolean isGone() {
      return response.closed();
    }

    @Override
    public Future<Void> onText(long version, String added, boolean last) {
      text.append(added);
      if (last) {
        exchange.predictor().endText();
        send(exchange, OK, part(version, text.toString()));
      }
      return Future.succeededFuture();
    }

    JsonObject part(long version, String added) {
      return new JsonObject()
          .put("model_name", exchange.predictor().job())
          .put("model_version", Long.toString(version))
          .put("text_output", added);
    }

    @Override
    public void onRefusal(Refusal why) {
      exchange.predictor().endText();
      send(exchange, why);
    }

    @Override
    public void onGone() {
      exchange.predictor().endText();
      exchange.release();
    }
  }

  /** A peer that gets each part of a text at once, as a server-sent event. */
  private final class EventStream extends WholeText {

    /** Completes when the peer has read enough; there is one while it has not. */
    private Promise<Void> reading = Promise.promise();

    EventStream(Exchange exchange) {
      super(exchange);
    }

    @Override
    public Future<Void> onText(long version, String added, boolean last) {
      begin();
      if (added.isEmpty() && !last) {
        return Future.succeededFuture();
      }
      Buffer event = event(part(version, added).put("done", last));
      if (last) {
        end(event);
        return Future.succeededFuture();
      }
      response.write(event);
      if (!response.writeQueueFull()) {
        return Future.succeededFuture();
      }
      exchange.connection().enter(Phase.READING);
      reading = Promise.promise();
      response.drainHandler(
          drained -> {
            exchange.connection().enter(Phase.ANSWER);
            reading.tryComplete();
          });
      return reading.future();
    }

    private void begin() {
      if (!response.headWritten() && !response.isChunked()) {
        response
            .setChunked(true)
            .closeHandler(closed -> reading.tryFail("the connection was closed"))
            .putHeader(TYPE, "text/event-stream; charset=utf-8")
            .putHeader("Cache-Control", "no-cache");
      }
    }

    private static Buffer event(JsonObject content) {
      return Buffer.buffer("data: " + content.encode() + "\n\n");
    }

    private void end(Buffer event) {
      exchange.predictor().endText();
      exchange.connection().answered(response.end(event), Phase.HEAD);
      exchange.connection().left().onComplete(left -> exchange.release());
    }

    @Override
    public void onRefusal(Refusal why) {
      if (response.isChunked()) {
        end(event(new JsonObject().put("error", why.getMessage())));
      } else {
        super.onRefusal(why);
      }
    }
  }

  /** Encodes an answer: on a worker thread if that may take long. */
  private void encode(Exchange exchange, InferenceRequest request, PredictionAnswer answer) {
    try {
      if (answer.outputs().length > SMALL_ANSWER) {
        loop.executeBlocking(() -> encoded(exchange, request, answer), false)
            .onComplete(body -> send(exchange, OK, body), why -> refuse(exchange, why));
      } else {
        send(exchange, OK, encoded(exchange, request, answer));
      }
    } catch (RuntimeException why) {
      refuse(exchange, why);
    }
  }

  private Body encoded(Exchange exchange, InferenceRequest request, PredictionAnswer answer) {
    Predictor predictor = exchange.predictor();
    Response response = request.response(predictor.job(), answer, predictor.format());
    return Body.of(exchange, response.body(), response.headerBytes());
  }

  /**
   * A body as it is sent.
   *
   * @param bytes its content
   * @param headerBytes length of the JSON before binary data, if there are any
   * @param gzip whether it is compressed
   */
  private record Body(Buffer bytes, OptionalInt headerBytes, boolean gzip) {

    /** Returns a body, compressed if the peer reads that. */
    static Body of(Exchange exchange, Buffer plain, OptionalInt headerBytes) {
      if (plain.length() < LEAST_COMPRESSED || !exchange.readsGzip()) {
        return new Body(plain, headerBytes, false);
      }
      ByteArrayOutputStream packed = new ByteArrayOutputStream();
      try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
        gzip.write(plain.getBytes());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return new Body(Buffer.buffer(packed.toByteArray()), headerBytes, true);
    }
  }

  private void refuse(Exchange exchange, Throwable why) {
    if (why instanceof Refusal refusal) {
      send(
          exchange,
          exchange
              .lease()
              .map(held -> held.predictor().refused(refusal))
              .orElseGet(() -> models.refused(refusal)));
    } else {
      LOG.error("a request could not be answered", why);
      error(exchange, Code.FAILED.number(), String.valueOf(why));
    }
  }

  private static void send(Exchange exchange, Refusal why) {
    boolean later = why.code() == Code.OVERLOADED || why.code() == Code.NOT_READY;
    if (later) {
      exchange.request().response().putHeader("Retry-After", HttpConnections.RETRY_SECONDS);
    }
    error(exchange, later ? UNAVAILABLE : why.code().number(), why.getMessage());
  }

  private static void error(Exchange exchange, int status, String message) {
    send(exchange, status, new JsonObject().put("error", message));
  }

  private static void send(Exchange exchange, int status, JsonObject body) {
    send(exchange, status, Body.of(exchange, body.toBuffer(), OptionalInt.empty()));
  }

  /** Sends an answer, and gives the request's memory back once it has left. */
  private static void send(Exchange exchange, int status, Body body) {
    HttpServerResponse response = exchange.request().response();
    if (response.ended() || response.closed()) {
      exchange.release();
      return;
    }
    body.headerBytes().ifPresent(bytes -> response.putHeader(LENGTH, Integer.toString(bytes)));
    response.putHeader(TYPE, body.headerBytes().isPresent() ? "application/octet-stream" : JSON);
    if (body.gzip()) {
      response.putHeader("Content-Encoding", "gzip").putHeader("Vary", "Accept-Encoding");
    }
    boolean received = exchange.isReceived();
    if (!received) {
      response.putHeader("Connection", "close");
    }
    Future<Void> written = response.setStatusCode(status).end(body.bytes());
    exchange.connection().answered(written, received ? Phase.HEAD : Phase.DISCARDING);
    exchange.connection().left().onComplete(left -> exchange.release());
  }
}
