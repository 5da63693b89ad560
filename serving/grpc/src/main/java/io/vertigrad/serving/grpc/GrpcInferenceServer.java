package io.vertigrad.serving.grpc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import io.vertigrad.serving.internal.InferenceProtocol.Port;
import io.vertigrad.serving.internal.InferenceService;
import io.vertigrad.serving.internal.Refusal;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.grpc.common.GrpcMessage;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcProtocol;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerOptions;
import io.vertx.grpc.server.GrpcServerRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A port that answers by the Open Inference Protocol over gRPC. Its connections belong to an event
 * loop of their own, which the job's members do not use.
 */
final class GrpcInferenceServer implements Port {

  private static final String INFERENCE = "inference.GRPCInferenceService";
  private static final String HEALTH = "grpc.health.v1.Health";

  private static final int MOST_CONNECTIONS = 256;
  private static final int MOST_STREAMS = 100;
  private static final int IDLE_SECONDS = 300;
  private static final int CLOSE_MILLIS = 2_000;
  private static final int WINDOW_BYTES = 1 << 20;
  private static final int FORBIDDEN = 403;

  /** How often a peer that watches the state can get a change. */
  private static final long WATCH_MILLIS = 500;

  private final InferenceService service;
  private final Context loop;
  private final GrpcServer grpc;
  private final ServerReflection reflection = new ServerReflection();
  private final Set<HttpConnection> connections = new HashSet<>();
  private HttpServer server;

  /** The call that Vert.x's gRPC server is given now; it calls its handler before it returns. */
  private Call arriving;

  /** A server's state in the protocol for health. */
  private enum Health {
    UNKNOWN,
    SERVING,
    NOT_SERVING,
    SERVICE_UNKNOWN
  }

  /** The name and version of a model, as two messages have them. */
  private record Model(String name, String version) {

    static Model read(String what, byte[] message) {
      return new Model(text(what, message, 1), text(what, message, 2));
    }
  }

  /**
   * Creates a server that does not listen yet.
   *
   * @param service what it answers with
   */
  GrpcInferenceServer(InferenceService service) {
    this.service = service;
    this.loop = service.vertx().getOrCreateContext();
    this.grpc =
        GrpcServer.server(
                service.vertx(),
                // Pages may not ask, and the other forms are theirs.
                new GrpcServerOptions()
                    .removeEnabledProtocol(GrpcProtocol.WEB)
                    .removeEnabledProtocol(GrpcProtocol.WEB_TEXT)
                    .removeEnabledProtocol(GrpcProtocol.TRANSCODING)
                    .setMaxMessageSize(service.mostBytes()))
            .callHandler(request -> route(arriving, request));
  }

  /**
   * Starts listening.
   *
   * @param port 0 for a free one
   * @return fails with what to do if the port cannot be used
   */
  Future<Void> listen(int port) {
    Promise<Void> listening = Promise.promise();
    loop.runOnContext(
        go ->
            service
                .vertx()
                .createHttpServer(options(port))
                .connectionHandler(this::onConnection)
                .requestHandler(this::onRequest)
                .listen()
                .onSuccess(open -> server = open)
                .recover(why -> Future.failedFuture(service.explained(why, port)))
                .<Void>mapEmpty()
                .onComplete(listening));
    return listening.future();
  }

  private HttpServerOptions options(int port) {
    return service
        .options(port)
        .setUseAlpn(true)
        .setIdleTimeout(IDLE_SECONDS)
        .setIdleTimeoutUnit(TimeUnit.SECONDS)
        .setHttp2ConnectionWindowSize(WINDOW_BYTES)
        .setInitialSettings(
            new Http2Settings()
                .setMaxConcurrentStreams(MOST_STREAMS)
                .setMaxHeaderListSize(HttpServerOptions.DEFAULT_MAX_HEADER_SIZE));
  }

  @Override
  public int number() {
    return server.actualPort();
  }

  @Override
  public Future<Void> close() {
    // Vert.x would wait for peers that do not read, or that watch.
    loop.runOnContext(
        go ->
            service
                .vertx()
                .setTimer(
                    CLOSE_MILLIS, late -> Set.copyOf(connections).forEach(HttpConnection::close)));
    return server.shutdown(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void onConnection(HttpConnection connection) {
    if (connections.size() == MOST_CONNECTIONS) {
      connection.close();
      return;
    }
    connections.add(connection);
    connection.closeHandler(closed -> connections.remove(connection));
  }

  private void onRequest(HttpServerRequest request) {
    if (request.getHeader("origin") != null) {
      request.response().setStatusCode(FORBIDDEN).end("only programs may ask over gRPC\n");
      return;
    }
    arriving = new Call(service, request);
    grpc.handle(new AccountedRequest(request, arriving));
  }

  private void route(Call call, GrpcServerRequest<Buffer, Buffer> request) {
    switch (request.fullMethodName()) {
      case INFERENCE + "/ServerLive" -> call.unary(request, message -> flag(true));
      case INFERENCE + "/ServerReady" -> call.unary(request, message -> flag(service.isReady()));
      case INFERENCE + "/ModelReady" ->
          admitted(
              call, request, content -> flag(isReady(Model.read("ModelReadyRequest", content))));
      case INFERENCE + "/ServerMetadata" ->
          admitted(call, request, content -> done(out -> writeServer(out, service.server())));
      case INFERENCE + "/ModelMetadata" ->
          admitted(call, request, content -> metadata(Model.read("ModelMetadataRequest", content)));
      case INFERENCE + "/ModelInfer" -> infer(call, request);
      case INFERENCE + "/RepositoryIndex" ->
          admitted(call, request, content -> index(call, content));
      case INFERENCE + "/RepositoryModelLoad" ->
          admitted(call, request, content -> change(call, content, true));
      case INFERENCE + "/RepositoryModelUnload" ->
          admitted(call, request, content -> change(call, content, false));
      case HEALTH + "/Check" -> call.unary(request, message -> check(call, message));
      case HEALTH + "/Watch" -> call.receive(request, message -> watch(call, message));
      case "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
          "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" ->
          call.each(request, message -> reflection.answer(call.content(message)));
      default ->
          call.only(
              request,
              GrpcStatus.UNIMPLEMENTED,
              "%s: there is no such method, expected one of %s"
                  .formatted(Call.shown(request.fullMethodName()), reflection.services()));
    }
  }

  /** Answers a message if the peer may ask. */
  private void admitted(
      Call call,
      GrpcServerRequest<Buffer, Buffer> request,
      Function<byte[], Future<Buffer>> method) {
    call.unary(
        request,
        message -> {
          service.requireToken(call.authorization());
          return method.apply(call.content(message));
        });
  }

  private void infer(Call call, GrpcServerRequest<Buffer, Buffer> request) {
    call.unary(
        request,
        message -> {
          service.requireToken(call.authorization());
          return service.infer(
              call.holder(),
              message.payload().length(),
              !message.encoding().equals("identity"),
              memory -> new InferenceMessage(call.content(message), memory));
        });
  }

  private boolean isReady(Model model) {
    return service.isReady(model.name(), model.version());
  }

  private Future<Buffer> metadata(Model model) {
    JsonObject known = service.model(model.name(), model.version());
    return done(
        out -> {
          out.writeString(1, known.getString("name"));
          for (Object version : known.getJsonArray("versions")) {
            out.writeString(2, version.toString());
          }
          out.writeString(3, known.getString("platform"));
          writeTensors(out, 4, known.getJsonArray("inputs"));
          writeTensors(out, 5, known.getJsonArray("outputs"));
        });
  }

  private static void writeTensors(CodedOutputStream out, int field, JsonArray tensors)
      throws IOException {
    for (int i = 0; i < tensors.size(); i++) {
      JsonObject tensor = tensors.getJsonObject(i);
      InferenceMessage.message(out, field, inner -> InferenceMessage.writeMetadata(inner, tensor));
    }
  }

  private static void writeServer(CodedOutputStream out, JsonObject known) throws IOException {
    out.writeString(1, known.getString("name"));
    out.writeString(2, known.getString("version"));
    for (Object extension : known.getJsonArray("extensions")) {
      // These two are of HTTP only.
      if (!extension.equals("binary_tensor_data") && !extension.equals("generate")) {
        out.writeString(3, extension.toString());
      }
    }
  }

  private Future<Buffer> index(Call call, byte[] content) {
    boolean[] ready = {false};
    InferenceMessage.read(
        "RepositoryIndexRequest",
        InferenceMessage.stream(ByteBuffer.wrap(content)),
        (in, tag) -> {
          boolean known = tag == (2 << 3 | WireFormat.WIRETYPE_VARINT);
          ready[0] = known ? in.readBool() : ready[0];
          return known;
        });
    JsonArray models = service.index(call.authorization(), ready[0]);
    return done(
        out -> {
          for (int i = 0; i < models.size(); i++) {
            JsonObject model = models.getJsonObject(i);
            InferenceMessage.message(
                out,
                1,
                inner -> {
                  inner.writeString(1, model.getString("name"));
                  inner.writeString(2, model.getString("version", ""));
                  inner.writeString(3, model.getString("state"));
                  inner.writeString(4, model.getString("reason"));
                });
          }
        });
  }

  private Future<Buffer> change(Call call, byte[] content, boolean loads) {
    String what = loads ? "RepositoryModelLoadRequest" : "RepositoryModelUnloadRequest";
    InferenceMessage.read(
        what,
        InferenceMessage.stream(ByteBuffer.wrap(content)),
        (in, tag) -> {
          boolean parameter = tag == (3 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED);
          if (parameter) {
            requireKnown(text("parameters", in.readByteArray(), 1));
          }
          return parameter;
        });
    return service
        .change(call.authorization(), text(what, content, 2), loads)
        .map(changed -> Buffer.buffer());
  }

  private static void requireKnown(String parameter) {
    if (!parameter.equals("unload_dependents")) {
      throw Refusal.invalid(
          "parameters: has %s, expected none: a model is loaded from what the server was started"
              + " with",
          Call.shown(parameter));
    }
  }

  private Future<Buffer> check(Call call, GrpcMessage message) {
    Health found = health(text("HealthCheckRequest", call.content(message), 1));
    if (found == Health.SERVICE_UNKNOWN) {
      throw new Refusal(
          Code.UNKNOWN, "service: is not known here, expected \"\" or \"%s\"".formatted(INFERENCE));
    }
    return done(out -> out.writeEnum(1, found.ordinal()));
  }

  /** Sends the state now, and when it has changed, until the peer leaves. */
  private void watch(Call call, GrpcMessage message) {
    String name = text("HealthCheckRequest", call.content(message), 1);
    Health[] sent = {Health.UNKNOWN};
    Runnable look =
        () -> {
          Health found = health(name);
          if (found != sent[0]) {
            sent[0] = found;
            call.send(
                Buffer.buffer(InferenceMessage.bytes(out -> out.writeEnum(1, found.ordinal()))));
          }
        };
    look.run();
    long timer = service.vertx().setPeriodic(WATCH_MILLIS, tick -> look.run());
    call.onEnd(() -> service.vertx().cancelTimer(timer));
  }

  private Health health(String name) {
    if (!name.isEmpty() && !reflection.services().contains(name)) {
      return Health.SERVICE_UNKNOWN;
    }
    return service.isReady() ? Health.SERVING : Health.NOT_SERVING;
  }

  /** Reads a field of a message that is a text; empty if it is not there. */
  private static String text(String what, byte[] message, int field) {
    String[] text = {""};
    InferenceMessage.read(
        what,
        InferenceMessage.stream(ByteBuffer.wrap(message)),
        (in, tag) -> {
          boolean found = tag == (field << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED);
          text[0] = found ? in.readStringRequireUtf8() : text[0];
          return found;
        });
    return text[0];
  }

  private static Future<Buffer> flag(boolean value) {
    return done(out -> out.writeBool(1, value));
  }

  private static Future<Buffer> done(InferenceMessage.Fields fields) {
    return Future.succeededFuture(Buffer.buffer(InferenceMessage.bytes(fields)));
  }
}
