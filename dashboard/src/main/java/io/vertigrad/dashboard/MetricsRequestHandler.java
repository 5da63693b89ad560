package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Answers dashboards at the one address that browsers may send to. It answers an unknown request
 * with a refusal and never throws.
 */
final class MetricsRequestHandler {

  private final Map<String, Function<JsonObject, Future<JsonObject>>> answers = new HashMap<>();

  /** Creates a handler that answers {@code {"request": "snapshot"}}. */
  public MetricsRequestHandler(Supplier<JsonObject> snapshot) {
    answers.put("snapshot", request -> Future.succeededFuture(snapshot.get()));
  }

  /** Also answers {@code {"request": "control", "action", "token"}}. */
  public void control(JobControl control) {
    answers.put("control", control::answer);
  }

  /** Also answers {@code {"request": "replay", "from"}}. */
  public void replay(Function<JsonObject, JsonObject> frames) {
    answers.put("replay", request -> Future.succeededFuture(frames.apply(request)));
  }

  /** Starts listening; completes when requests can arrive. */
  public Future<Void> open(Vertx vertx, Addresses addresses) {
    MessageConsumer<Object> consumer =
        vertx.eventBus().consumer(addresses.metricsRequests(), this::answer);
    return consumer.completion();
  }

  private void answer(Message<Object> message) {
    Object request = message.body() instanceof JsonObject body ? body.getValue("request") : null;
    Function<JsonObject, Future<JsonObject>> answer =
        answers.getOrDefault(String.valueOf(request), this::refuse);
    JsonObject body = message.body() instanceof JsonObject json ? json : new JsonObject();
    answer
        .apply(body)
        .otherwise(failure -> refused(failure.getMessage()))
        .onSuccess(message::reply);
  }

  private Future<JsonObject> refuse(JsonObject request) {
    return Future.succeededFuture(
        refused("expected request to be one of " + String.join(", ", answers.keySet())));
  }

  static JsonObject refused(String why) {
    return new JsonObject().put("refused", why);
  }
}
