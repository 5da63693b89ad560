package io.vertigrad.examples.metricsbridge;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Follows a run from any place that reaches its page, without joining the cluster. It uses the
 * event-bus bridge over a WebSocket, as a browser does. {@code docs/reference/metrics.md} describes
 * the messages.
 */
public final class BridgeWatch {

  private static final long PING_MILLIS = 5_000;

  private final Vertx vertx;
  private final URI page;

  BridgeWatch(Vertx vertx, URI page) {
    this.vertx = vertx;
    this.page = page;
  }

  /** Prints a line for each delta of the run whose page is the first argument. */
  public static void main(String[] arguments) {
    Vertx vertx = Vertx.vertx();
    URI page = URI.create(arguments.length == 0 ? "http://127.0.0.1:8350/" : arguments[0]);
    new BridgeWatch(vertx, page)
        .follow(delta -> System.out.println(line(delta)))
        .onFailure(problem -> System.err.println(problem.getMessage()))
        .onSuccess(socket -> socket.closeHandler(closed -> vertx.close()));
  }

  /** Passes on every delta from now until the socket is closed. */
  Future<WebSocket> follow(Consumer<JsonObject> deltas) {
    return job().compose(job -> listen("metrics." + job, deltas));
  }

  static String line(JsonObject delta) {
    JsonObject state = delta.getJsonObject("state");
    return String.format(
        Locale.ROOT,
        "%6d  %-8s  version %6d  %,9.0f samples/s",
        delta.getLong("number"),
        state.getString("phase"),
        state.getLong("version", 0L),
        state.getDouble("samplesPerSecond", 0.0));
  }

  /**
   * Asks the page for the job's name. Vert.x closes a client that the garbage collector finds
   * unreachable, so the handlers keep a reference to each client.
   */
  private Future<String> job() {
    HttpClient client = vertx.createHttpClient();
    return client
        .request(HttpMethod.GET, page.getPort(), page.getHost(), "/job")
        .compose(request -> request.send().compose(HttpClientResponse::body))
        .map(body -> body.toJsonObject().getString("job"))
        .onComplete(answered -> client.close());
  }

  private Future<WebSocket> listen(String address, Consumer<JsonObject> deltas) {
    WebSocketClient client = vertx.createWebSocketClient();
    return client
        .connect(page.getPort(), page.getHost(), "/eventbus/websocket")
        .onSuccess(
            socket -> {
              socket.binaryMessageHandler(
                  message -> {
                    JsonObject envelope = message.toJsonObject();
                    if ("rec".equals(envelope.getString("type"))) {
                      deltas.accept(envelope.getJsonObject("body"));
                    }
                  });
              JsonObject register = new JsonObject().put("type", "register");
              socket.writeTextMessage(register.put("address", address).encode());
              long pings = vertx.setPeriodic(PING_MILLIS, id -> ping(socket));
              socket.closeHandler(
                  closed -> {
                    vertx.cancelTimer(pings);
                    client.close();
                  });
            })
        .onFailure(refused -> client.close());
  }

  private static void ping(WebSocket socket) {
    socket.writeTextMessage("{\"type\":\"ping\"}");
  }
}
