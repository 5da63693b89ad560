package io.vertigrad.serving.internal;

import io.netty.handler.codec.compression.StandardCompressionOptions;
import io.vertigrad.job.ServingConfig.Http;
import io.vertigrad.serving.internal.InferenceRequest.Form;
import io.vertigrad.serving.internal.InferenceRequest.Response;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.Context;
import io.vertx.core.Future;
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
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers over HTTP by the Open Inference Protocol, version 2, with its extension for binary data,
 * and for images. Belongs to the verticle's context; connections are served by its event loop.
 */
final class InferenceServer {

  private static final Logger LOG = LoggerFactory.getLogger(InferenceServer.class);
  private static final int IDLE_SECONDS = 60;
  private static final int CLOSE_SECONDS = 2;

  /** How many of the largest bodies are held at once, from all senders. */
  private static final int BODIES = 8;

  private static final int OK = 200;
  private static final int BAD_METHOD = 405;
  private static final int TOO_LARGE = 413;
  private static final int UNAVAILABLE = 503;
  private static final String RETRY_SECONDS = "1";
  private static final String LENGTH = "Inference-Header-Content-Length";
  private static final String TYPE = "Content-Type";
  private static final String JSON = "application/json";
  private static final int MOST_SHOWN = 200;

  private static final String VERSION = readVersion();

  private final Vertx vertx;
  private final Context context;
  private final Http http;
  private final Predictor predictor;
  private HttpServer server;
  private long held;

  InferenceServer(Vertx vertx, Context context, Http http, Predictor predictor) {
    this.vertx = vertx;
    this.context = context;
    this.http = http;
    this.predictor = predictor;
  }

  /**
   * Starts listening.
   *
   * @return fails with what to do if the port cannot be used, or would be open to everyone
   */
  Future<Void> open() {
    return vertx
        .executeBlocking(this::checkHost, false)
        .compose(checked -> listen())
        .onSuccess(open -> server = open)
        .recover(why -> Future.failedFuture(explained(why)))
        .mapEmpty();
  }

  /** Accepts no further connections, and closes the others when their requests are answered. */
  Future<Void> close() {
    return server == null
        ? Future.succeededFuture()
        : server.shutdown(CLOSE_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns the address of the model. */
  String url() {
    String host = http.host().contains(":") ? "[" + http.host() + "]" : http.host();
    return "%s://%s:%d/v2/models/%s"
        .formatted(http.tls() ? "https" : "http", host, server.actualPort(), predictor.job());
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
        new HttpServerOptions()
            .setHost(http.host())
            .setPort(http.port().orElseThrow())
            .setIdleTimeout(IDLE_SECONDS)
            // Over HTTP/2, Vert.x marks answers as gzip and does not compress them when the
            // connection's first request has not asked for it.
            .setHttp2ClearTextEnabled(false)
            .setUseAlpn(false)
            .addCompressor(StandardCompressionOptions.gzip())
            .setCompressionSupported(true);
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
    return vertx.createHttpServer(options).requestHandler(this::handle).listen();
  }

  private Throwable explained(Throwable why) {
    return why instanceof BindException
        ? new IllegalArgumentException(
            "port %d of %s is taken, expected a free one: set serving.port (--serve PORT), 0 for any"
                .formatted(http.port().orElseThrow(), http.host()),
            why)
        : why;
  }

  private void handle(HttpServerRequest request) {
    try {
      route(request);
    } catch (Refusal why) {
      refuse(request.response(), why);
    }
  }

  private void route(HttpServerRequest request) {
    List<String> path =
        Arrays.stream(request.path().split("/")).filter(word -> !word.isEmpty()).toList();
    boolean ready = predictor.isReady();
    switch (String.join("/", path)) {
      case "v2" -> answer(request, OK, server());
      case "v2/health/live" -> answer(request, OK, new JsonObject().put("live", true));
      case "v2/health/ready" ->
          answer(
              request,
              ready ? OK : UNAVAILABLE,
              new JsonObject().put("live", ready).put("ready", ready));
      default -> {
        if (path.size() < 3 || !path.get(0).equals("v2") || !path.get(1).equals("models")) {
          throw new Refusal(
              Code.UNKNOWN,
              "%s: there is no such path, expected one below /v2/models/%s"
                  .formatted(shownPath(request), predictor.job()));
        }
        ofModel(request, path, ready);
      }
    }
  }

  private void ofModel(HttpServerRequest request, List<String> path, boolean ready) {
    String last = path.size() == 3 ? "" : path.get(path.size() - 1);
    boolean infers = last.equals("infer");
    boolean asksReady = last.equals("ready");
    List<String> model = path.subList(2, path.size() - (infers || asksReady ? 1 : 0));
    OptionalLong version = version(request, model);
    if (infers) {
      if (requires(request, HttpMethod.POST)) {
        receive(request, version, Form.of(request.headers()));
      }
      return;
    }
    if (version.isPresent() && version.getAsLong() != predictor.version()) {
      throw new Refusal(
          Code.UNKNOWN,
          "model \"%s\": version %d is not served, expected %d"
              .formatted(predictor.job(), version.getAsLong(), predictor.version()));
    }
    if (asksReady) {
      answer(
          request,
          ready ? OK : UNAVAILABLE,
          new JsonObject().put("name", predictor.job()).put("ready", ready));
    } else {
      answer(
          request,
          OK,
          InferenceRequest.metadata(predictor.job(), predictor.version(), predictor.format()));
    }
  }

  private static String shownPath(HttpServerRequest request) {
    return SampleFormat.cut(request.path(), MOST_SHOWN);
  }

  private static boolean requires(HttpServerRequest request, HttpMethod expected) {
    if (request.method() == expected
        || request.method() == HttpMethod.HEAD && expected == HttpMethod.GET) {
      return true;
    }
    String allowed = expected == HttpMethod.GET ? "GET, HEAD" : expected.name();
    request.response().putHeader("Allow", allowed);
    error(
        request.response(),
        BAD_METHOD,
        "%s %s: expected %s"
            .formatted(
                SampleFormat.cut(request.method().name(), MOST_SHOWN),
                shownPath(request),
                allowed));
    return false;
  }

  private static void answer(HttpServerRequest request, int status, JsonObject body) {
    if (requires(request, HttpMethod.GET)) {
      send(request.response(), status, body);
    }
  }

  private static JsonObject server() {
    return new JsonObject()
        .put("name", "vertigrad")
        .put("version", VERSION)
        .put("extensions", new JsonArray().add("binary_tensor_data"));
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

  /** Reads {@code NAME} or {@code NAME/versions/V}. */
  private OptionalLong version(HttpServerRequest request, List<String> path) {
    if (!path.get(0).equals(predictor.job())) {
      throw new Refusal(
          Code.UNKNOWN,
          "model \"%s\" is not served here, expected \"%s\""
              .formatted(SampleFormat.cut(path.get(0), MOST_SHOWN), predictor.job()));
    }
    if (path.size() == 1) {
      return OptionalLong.empty();
    }
    if (path.size() == 3 && path.get(1).equals("versions") && path.get(2).matches("\\d{1,18}")) {
      return OptionalLong.of(Long.parseLong(path.get(2)));
    }
    throw new Refusal(
        Code.UNKNOWN,
        "%s: expected /v2/models/%s or /v2/models/%s/versions/NUMBER, and /ready or /infer behind it"
            .formatted(shownPath(request), predictor.job(), predictor.job()));
  }

  /** Receives a body of limited size; bodies of all senders together are limited, too. */
  private void receive(HttpServerRequest request, OptionalLong version, Form form) {
    Buffer body = Buffer.buffer();
    boolean[] ended = {false};
    Runnable end =
        () -> {
          if (!ended[0]) {
            ended[0] = true;
            held -= body.length();
          }
        };
    request.handler(
        chunk -> {
          if (ended[0]) {
            return;
          }
          boolean fits = body.length() + chunk.length() <= http.maxBytes();
          if (fits && held + chunk.length() <= (long) BODIES * http.maxBytes()) {
            body.appendBuffer(chunk);
            held += chunk.length();
            return;
          }
          end.run();
          request.response().putHeader("Connection", "close");
          if (fits) {
            refuse(
                request.response(),
                predictor.refused(
                    new Refusal(Code.OVERLOADED, "too many bodies are received; try again later")));
          } else {
            error(
                request.response(),
                TOO_LARGE,
                "body: has more than %d bytes, expected at most so many (serving.maxBytes)"
                    .formatted(http.maxBytes()));
          }
        });
    request.exceptionHandler(broken -> end.run());
    request.endHandler(
        all -> {
          if (!ended[0]) {
            predict(request.response(), body, version, form, end);
          }
        });
  }

  private void predict(
      HttpServerResponse response, Buffer body, OptionalLong version, Form form, Runnable end) {
    SampleFormat format = predictor.format();
    try {
      predictor.requireRoom();
      vertx
          .executeBlocking(() -> decoded(body, form, format), false)
          .onComplete(
              request -> predict(response, request, version, format, end),
              why -> {
                end.run();
                refuse(response, counted(why));
              });
    } catch (RuntimeException why) {
      end.run();
      refuse(response, counted(why));
    }
  }

  private InferenceRequest decoded(Buffer body, Form form, SampleFormat format) {
    byte[] content = form.content(body, http.maxBytes(), bytes -> {});
    return form.isPicture()
        ? InferenceRequest.of(format.readImage(content), format)
        : InferenceRequest.read(content, form.headerBytes(), format, http.maxBytes(), bytes -> {});
  }

  private void predict(
      HttpServerResponse response,
      InferenceRequest request,
      OptionalLong version,
      SampleFormat format,
      Runnable end) {
    predictor.predict(
        request.inputs(),
        version,
        (answer, why) ->
            context.runOnContext(
                go -> {
                  end.run();
                  if (why != null) {
                    refuse(response, why);
                  } else {
                    send(response, request.response(predictor.job(), answer, format));
                  }
                }));
  }

  private Throwable counted(Throwable why) {
    return why instanceof Refusal refusal ? predictor.refused(refusal) : why;
  }

  private static void refuse(HttpServerResponse response, Throwable why) {
    if (!(why instanceof Refusal refusal)) {
      LOG.error("a request could not be answered", why);
      error(response, Code.FAILED.number(), String.valueOf(why));
      return;
    }
    boolean later = refusal.code() == Code.OVERLOADED || refusal.code() == Code.NOT_READY;
    if (later) {
      response.putHeader("Retry-After", RETRY_SECONDS);
    }
    error(response, later ? UNAVAILABLE : refusal.code().number(), refusal.getMessage());
  }

  private static void error(HttpServerResponse response, int status, String message) {
    send(response, status, new JsonObject().put("error", message));
  }

  private static void send(HttpServerResponse response, int status, JsonObject body) {
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(status).putHeader(TYPE, JSON).end(body.toBuffer());
    }
  }

  private static void send(HttpServerResponse response, Response found) {
    if (!response.ended() && !response.closed()) {
      found.headerBytes().ifPresent(bytes -> response.putHeader(LENGTH, Integer.toString(bytes)));
      response
          .putHeader(TYPE, found.headerBytes().isPresent() ? "application/octet-stream" : JSON)
          .end(found.body());
    }
  }
}
