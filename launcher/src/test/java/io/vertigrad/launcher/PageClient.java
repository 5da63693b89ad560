package io.vertigrad.launcher;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Asks a page's bridge as a browser does. Its methods block, so an event loop must not call them.
 */
final class PageClient {

  private static final long LIMIT_SECONDS = 30;
  private static final int LARGEST_MESSAGE = 64 << 20;

  private final Map<String, Promise<JsonObject>> asked = new ConcurrentHashMap<>();

  /** Kept in a field, because Vert.x closes a client that is no longer referenced. */
  private final WebSocketClient client;

  private final WebSocket socket;
  private final String requests;

  /** Connects to a page. */
  PageClient(Vertx vertx, URI page) {
    client =
        vertx.createWebSocketClient(
            new WebSocketClientOptions()
                .setMaxFrameSize(LARGEST_MESSAGE)
                .setMaxMessageSize(LARGEST_MESSAGE));
    HttpClient http = vertx.createHttpClient();
    JsonObject job =
        Await.result(
            http.request(HttpMethod.GET, page.getPort(), page.getHost(), "/job")
                .compose(request -> request.send().compose(HttpClientResponse::body))
                .map(body -> body.toJsonObject())
                .onComplete(answered -> http.close()),
            LIMIT_SECONDS,
            "the page's job");
    requests = "metrics-requests." + job.getString("job");
    socket =
        Await.result(
            client
                .connect(page.getPort(), page.getHost(), "/eventbus/websocket")
                .onSuccess(
                    open -> {
                      open.textMessageHandler(text -> onMessage(new JsonObject(text)));
                      open.binaryMessageHandler(bytes -> onMessage(bytes.toJsonObject()));
                    }),
            LIMIT_SECONDS,
            "the page's bridge");
  }

  /** Returns the states of a run that is over: that of the snapshot, then that of each delta. */
  List<JsonObject> states() {
    JsonObject snapshot = ask(JsonObject.of("request", "snapshot"));
    List<JsonObject> states = new ArrayList<>(List.of(snapshot.getJsonObject("state")));
    int frames = snapshot.getInteger("replayFrames");
    for (int next = 0; next < frames; ) {
      JsonObject answer = ask(JsonObject.of("request", "replay", "from", next));
      for (Object frame : answer.getJsonArray("frames")) {
        states.add(((JsonObject) frame).getJsonObject("state"));
      }
      next = answer.getInteger("next");
    }
    return states;
  }

  private JsonObject ask(JsonObject request) {
    String reply = "reply " + asked.size();
    Promise<JsonObject> answer = Promise.promise();
    asked.put(reply, answer);
    JsonObject message = JsonObject.of("type", "send", "address", requests, "body", request);
    Future<JsonObject> answered =
        socket
            .writeTextMessage(message.put("replyAddress", reply).encode())
            .compose(sent -> answer.future());
    return Await.result(answered, LIMIT_SECONDS, "the answer to " + request);
  }

  private void onMessage(JsonObject message) {
    Promise<JsonObject> answer = asked.get(message.getString("address", ""));
    if (answer != null) {
      answer.tryComplete(message.getJsonObject("body"));
    }
  }
}
