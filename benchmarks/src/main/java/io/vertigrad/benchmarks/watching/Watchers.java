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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Opens sockets that receive every delta of a run, as many pages would, and one that never reads.
 * Alternatively its sockets ask for snapshots all the time.
 */
final class Watchers {

  static final String COME = "come";
  static final String GO = "go";

  private static final long LIMIT_SECONDS = 60;
  private static final long PING_MILLIS = 5_000;
  private static final int MESSAGE_BYTES = 16 << 20;
  private static final int SOCKETS_PER_ADDRESS = 64;

  private final Vertx vertx = Vertx.vertx();
  private final List<WebSocketClient> clients = new ArrayList<>();
  private final List<WebSocket> sockets = new CopyOnWriteArrayList<>();
  private final AtomicLong messages = new AtomicLong();
  private long timer;

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
    int asks = question.getInteger("asksPerSecond", 0);
    messages.set(0);
    return asks == 0 ? listen(question) : ask(question, asks);
  }

  private JsonObject ask(JsonObject question, int asksPerSecond) throws Exception {
    for (int i = 0; i < question.getInteger("sockets"); i++) {
      WebSocket socket = connect(question);
      socket.handler(message -> messages.incrementAndGet());
      sockets.add(socket);
    }
    String request =
        new JsonObject()
            .put("type", "send")
            .put("address", "metrics-requests." + question.getString("job"))
            .put("replyAddress", "watcher")
            .put("body", new JsonObject().put("request", "snapshot"))
            .encode();
    timer =
        vertx.setPeriodic(
            1_000 / asksPerSecond,
            now -> sockets.forEach(socket -> socket.writeTextMessage(request)));
    return new JsonObject();
  }

  private JsonObject listen(JsonObject question) throws Exception {
    int reading = question.getInteger("sockets");
    // The server disconnects a client that is silent for 15 s, and opening this many takes a while.
    timer = vertx.setPeriodic(PING_MILLIS, timer -> sockets.forEach(Watchers::ping));
    for (int i = 0; i <= reading; i++) {
      WebSocket socket = connect(question);
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

  /** Connects from as many addresses of this machine as the page requires for this many sockets. */
  private WebSocket connect(JsonObject question) throws Exception {
    URI page = URI.create(question.getString("url"));
    int address = sockets.size() / SOCKETS_PER_ADDRESS;
    if (address == clients.size()) {
      clients.add(
          vertx.createWebSocketClient(
              new WebSocketClientOptions()
                  .setMaxConnections(SOCKETS_PER_ADDRESS)
                  .setMaxFrameSize(MESSAGE_BYTES)
                  .setMaxMessageSize(MESSAGE_BYTES)
                  .setLocalAddress("127.0.0." + (address + 1))));
    }
    WebSocketClient client = clients.get(address);
    return await(client.connect(page.getPort(), page.getHost(), "/eventbus/websocket"));
  }

  private JsonObject go() throws Exception {
    vertx.cancelTimer(timer);
    long open = sockets.stream().filter(socket -> !socket.isClosed()).count();
    if (open < sockets.size() - 1) {
      throw new IllegalStateException(
          "%s of %s sockets were open at the end, expected all that read"
              .formatted(open, sockets.size()));
    }
    // A socket that does not read would not notice that it is closed.
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
