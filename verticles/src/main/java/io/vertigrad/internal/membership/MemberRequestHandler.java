package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/** Serves a member's own address: proposals and commands in, its handler's answers out. */
final class MemberRequestHandler {

  private static final int REFUSED = 1;

  private final MemberHandler handler;
  private final MessageConsumer<JsonObject> consumer;

  MemberRequestHandler(Vertx vertx, String address, MemberHandler handler) {
    this.handler = handler;
    consumer = vertx.eventBus().consumer(address, this::answer);
  }

  /** Completes when the coordinator can reach it. */
  Future<Void> open() {
    return consumer.completion();
  }

  void close() {
    consumer.unregister();
  }

  private void answer(Message<JsonObject> message) {
    JsonObject body = message.body();
    Future<JsonObject> answer =
        body.containsKey("propose")
            ? propose(Membership.fromJson(body.getJsonObject("propose")))
            : handler.command(body);
    answer
        .onSuccess(message::reply)
        .onFailure(failure -> message.fail(REFUSED, failure.getMessage()));
  }

  private Future<JsonObject> propose(Membership next) {
    return handler
        .proposed(next)
        .map(
            answer -> {
              JsonObject json = new JsonObject();
              answer.reached().ifPresent(version -> json.put("version", version));
              JsonArray starts = new JsonArray();
              answer
                  .starts()
                  .forEach(
                      start -> starts.add(JsonArray.of(start.rank(), start.round(), start.step())));
              return json.put("starts", starts);
            });
  }
}
