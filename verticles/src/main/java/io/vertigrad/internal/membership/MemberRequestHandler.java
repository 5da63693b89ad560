package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRequest.Command;
import io.vertigrad.internal.membership.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.MemberRequest.Promote;
import io.vertigrad.internal.membership.MemberRequest.Propose;
import io.vertigrad.internal.membership.MemberRequest.Replicate;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;

/** Serves a member's own address: passes requests to its handler and sends back the answers. */
final class MemberRequestHandler {

  private static final int REFUSED = 1;

  private final Role role;
  private final MemberHandler handler;
  private final MessageConsumer<JsonObject> consumer;

  MemberRequestHandler(Vertx vertx, String address, Role role, MemberHandler handler) {
    this.role = role;
    this.handler = handler;
    consumer = vertx.eventBus().consumer(address, this::answer);
  }

  /** Completes when the coordinator can reach this address. */
  Future<Void> open() {
    return consumer.completion();
  }

  void close() {
    consumer.unregister();
  }

  private void answer(Message<JsonObject> message) {
    Future<JsonObject> answer;
    try {
      answer = answer(ControlCodec.memberRequest(message.body()));
    } catch (IllegalArgumentException malformed) {
      answer = Future.failedFuture(malformed);
    }
    answer
        .onSuccess(message::reply)
        .onFailure(failure -> message.fail(REFUSED, failure.getMessage()));
  }

  private Future<JsonObject> answer(MemberRequest request) {
    if (request instanceof Propose propose) {
      return handler.proposed(propose.next()).map(ControlCodec::write);
    }
    if (request instanceof Evaluate) {
      return handler.evaluate().map(ControlCodec::write);
    }
    if (request instanceof Replicate replicate) {
      return handler.replicate(replicate.backup()).map(copied -> new JsonObject());
    }
    if (request instanceof Promote promote) {
      return handler.promoted(promote.as()).map(serves -> new JsonObject());
    }
    return switch ((Command) request) {
      case STATUS ->
          role == Role.WORKER
              ? handler.stepState().map(ControlCodec::write)
              : handler.counters().map(ControlCodec::write);
      case SAVE -> handler.save().map(ControlCodec::writeFile);
      case LEDGER -> handler.updates().map(ControlCodec::writeUpdates);
      case ADOPT -> handler.adopt().map(started -> new JsonObject());
      case CHECKPOINT -> handler.checkpoint().map(ControlCodec::write);
    };
  }
}
