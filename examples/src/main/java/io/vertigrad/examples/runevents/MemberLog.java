package io.vertigrad.examples.runevents;

import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.function.Consumer;

/**
 * Lists members that join and leave: a plain consumer of the event bus, for code without RxJava.
 */
final class MemberLog {

  private MemberLog() {}

  /** Listens until the consumer is unregistered. */
  static MessageConsumer<JsonObject> of(Vertx vertx, String job, Consumer<String> lines) {
    return vertx
        .eventBus()
        .consumer(
            "vertigrad." + job + ".events",
            message -> {
              JsonObject event = message.body();
              switch (event.getString("type")) {
                case "memberJoined" -> lines.accept("joined: " + member(event));
                case "memberLeft" ->
                    lines.accept("left: " + member(event) + ", " + event.getString("reason"));
                default -> {}
              }
            });
  }

  private static String member(JsonObject event) {
    return event.getString("role") + " " + event.getInteger("rank");
  }
}
