package io.vertigrad.benchmarks.watching;

import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Sockets that hear every delta of a run, as many pages would, and one that never reads. */
final class Watchers {

  static final String COME = "come";
  static final String GO = "go";

  private static final long LIMIT_SECONDS = 60;
  private static final long PING_MILLIS = 5_000;
  private static final int SOCKETS_MOST = 256;

  private final Vertx vertx = Vertx.vertx();
  private final WebSocketClient client =
      vertx.createWebSocketClient(new WebSocketClientOptions().setMaxConnections(SOCKETS_MOST));
  private final List<WebSocket> sockets = new CopyOnWriteArrayList<>();
  private final AtomicLong messages = new AtomicLong();
  private long pings;

  private Watchers() {}

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(new Watchers()::answer);
  }

  private JsonObject answer(JsonObject question) throws Exception {
    return switch (question.getString("task")) {
      case COME -> come(question);
      case GO -> go();
      default -> throw new IllegalArgumentException("no task " + question.encode());
    };
  }

  private JsonObject come(JsonObject question) throws Exception {
    URI page = URI.create(question.getString("url"));
    int reading = question.getInteger("sockets");
    messages.set(0);
    // The server gives up whoever is silent for 15 s, and so many take a while to come.
    pings = vertx.setPeriodic(PING_MILLIS, timer -> sockets.forEach(Watchers::ping));
    for (int i = 0; i <= reading; i++) {
      WebSocket socket =
          await(client.connect(page.getPort(), page.getHost(), "/eventbus/websocket"));
      socket.handler(message -> messages.incrementAndGet());
      JsonObject register = new JsonObject().put("type", "register");
      await(
          socket.writeTextMessage(
              register.put("address", "metrics." + question.getString("job")).encode()));
      if (i == reading) {
        socket.pause();
      }
      sockets.add(socket);
    }
    return new JsonObject();
  }

  private JsonObject go() throws Exception {
    vertx.cancelTimer(pings);
    long open = sockets.stream().filter(socket -> !socket.isClosed()).count();
    if (open < sockets.size() - 1) {
      throw new IllegalStateException(
          "%d of %d sockets were open at the end, expected all that read"
              .formatted(open, sockets.size()));
    }
    // The one that does not read would not hear that it is closed.
    sockets.forEach(WebSocket::resume);
    for (WebSocket socket : sockets) {
      await(socket.close().otherwiseEmpty());
    }
    sockets.clear();
    return new JsonObject().put("messages", messages.get());
  }

  private static void ping(WebSocket socket) {
    socket.writeTextMessage("{\"type\":\"ping\"}");
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
