package io.vertigrad.serving.internal;

import io.vertigrad.job.ServingConfig.Http;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** The models of a server, and the ports that answer with them. Any thread may use it. */
public final class ServerEndpoints {

  private final Vertx vertx;
  private final ServingResources resources;
  private final ModelRepository models;
  private final InferenceServer http;
  private final InferenceService service;
  private final List<InferenceProtocol.Port> ports = new CopyOnWriteArrayList<>();

  private ServerEndpoints(
      Vertx vertx,
      ServingResources resources,
      Http http,
      ModelRepository models,
      BearerTokens tokens) {
    this.vertx = vertx;
    this.resources = resources;
    this.models = models;
    this.http =
        new InferenceServer(
            resources.http(), resources.memory(), http, models, tokens, System::nanoTime);
    this.service = new InferenceService(resources.http(), resources.memory(), http, models, tokens);
  }

  /**
   * Loads the models, and listens.
   *
   * @param tokens the text of a token file; empty for a server without tokens
   * @param notices takes a line when a model begins to answer, or cannot be loaded
   * @return fails with a message for the user
   */
  public static Future<ServerEndpoints> open(
      Vertx vertx,
      Http http,
      List<ModelSource> sources,
      Optional<String> tokens,
      Consumer<String> notices) {
    Context context = vertx.getOrCreateContext();
    // A thread of no Vert.x instance: Vert.x warns of one that is created by another.
    return Future.fromCompletionStage(
            CompletableFuture.supplyAsync(
                () -> {
                  BearerTokens known =
                      tokens
                          .map(text -> BearerTokens.read("tokens", text))
                          .orElse(BearerTokens.NONE);
                  return new ServerEndpoints(
                      vertx,
                      ServingResources.acquire(vertx),
                      http,
                      ModelRepository.of(sources, notices),
                      known);
                }),
            context)
        .compose(
            endpoints ->
                Future.fromCompletionStage(endpoints.models.open(), context)
                    .compose(loaded -> endpoints.http.open())
                    .recover(why -> endpoints.close().transform(closed -> Future.failedFuture(why)))
                    .map(endpoints))
        .recover(why -> Future.failedFuture(plain(why)));
  }

  /** Returns what a stage failed with, without the exception around it. */
  private static Throwable plain(Throwable why) {
    return why instanceof CompletionException && why.getCause() != null ? why.getCause() : why;
  }

  /**
   * Answers by a protocol beside HTTP, too, at the same host.
   *
   * @param protocol its name, such as {@code grpc}
   * @param port 0 for a free one
   * @return the port's number; fails with a message for the user
   */
  public Future<Integer> listen(String protocol, int port) {
    try {
      return InferenceProtocol.of(protocol)
          .listen(service, port)
          .map(
              open -> {
                ports.add(open);
                return open.number();
              });
    } catch (IllegalArgumentException absent) {
      return Future.failedFuture(absent);
    }
  }

  /** Returns the server's address, without a path. */
  public String address() {
    return http.address();
  }

  /** Returns what the server answers with. */
  public ModelRepository models() {
    return models;
  }

  /** Stops listening, and closes the models. */
  public Future<Void> close() {
    // Not on a context of HTTP's Vert.x, which is closed last.
    return Future.<Void>succeededFuture()
        .eventually(() -> Future.join(ports.stream().map(InferenceProtocol.Port::close).toList()))
        .eventually(http::close)
        .eventually(
            () ->
                vertx.executeBlocking(
                    () -> {
                      models.close();
                      return null;
                    },
                    false))
        .eventually(() -> resources.release(vertx));
  }
}
