package io.vertigrad.dashboard;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Plays a browser's end of the bridge; a test can make it misbehave. */
final class RawBrowser {

  private final WebSocket socket;
  private final List<JsonObject> received = new CopyOnWriteArrayList<>();
  private volatile boolean closed;

  private RawBrowser(WebSocket socket) {
    this.socket = socket;
    socket.binaryMessageHandler(message -> received.add(new JsonObject(message)));
    socket.closeHandler(gone -> closed = true);
    socket.exceptionHandler(broken -> closed = true);
  }

  static WebSocketClient client(Vertx vertx) {
    return client(vertx, "127.0.0.1");
  }

  /** Returns a client that connects from this address of the machine. */
  static WebSocketClient client(Vertx vertx, String localAddress) {
    WebSocketClientOptions options =
        new WebSocketClientOptions()
            .setMaxConnections(1_000)
            .setLocalAddress(localAddress)
            .setMaxFrameSize(8 << 20)
            .setMaxMessageSize(8 << 20);
    return vertx.createWebSocketClient(options);
  }

  static Future<RawBrowser> open(WebSocketClient client, int port) {
    return client.connect(port, "127.0.0.1", "/eventbus/websocket").map(RawBrowser::new);
  }

  void send(String type, String address, Object body) {
    JsonObject message = new JsonObject().put("type", type).put("address", address);
    socket.writeTextMessage(message.put("body", body).encode());
  }

  void ask(String address, Object body) {
    JsonObject message = new JsonObject().put("type", "send").put("address", address);
    socket.writeTextMessage(message.put("body", body).put("replyAddress", "r").encode());
  }

  void listen(String address) {
    socket.writeTextMessage(
        new JsonObject().put("type", "register").put("address", address).encode());
  }

  void ping() {
    text("{\"type\":\"ping\"}");
  }

  void text(String message) {
    socket.writeTextMessage(message);
  }

  /** Stops reading from the connection. */
  void stopReading() {
    socket.pause();
  }

  void readOn() {
    socket.resume();
  }

  List<JsonObject> received() {
    return received;
  }

  boolean received(String type) {
    return received.stream().anyMatch(message -> type.equals(message.getString("type")));
  }

  boolean closed() {
    return closed;
  }
}
