package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;

/** Where a member's requests to the coordinator go out. */
final class CoordinatorRequests {

  private static final long LEAVE_MILLIS = 2_000;

  private final Vertx vertx;
  private final Addresses addresses;

  CoordinatorRequests(Vertx vertx, Addresses addresses) {
    this.vertx = vertx;
    this.addresses = addresses;
  }

  /** The answer to a request, or a failure after this long. */
  Future<JsonObject> request(JsonObject request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx
        .eventBus()
        .<JsonObject>request(addresses.coordinator(), request, options)
        .map(Message::body);
  }

  /** Says that a member leaves, and what it said last. */
  Future<Void> leave(Admission leaving, LeaveReason reason, JsonObject status) {
    JsonObject request = leaving.toJson().put("request", "leave").put("reason", reason.toString());
    return request(request.put("status", status), LEAVE_MILLIS).mapEmpty();
  }

  /** Where this member itself is reached. */
  String own(Admission member) {
    return addresses.member(member.role().lower(), member.rank(), member.incarnation());
  }
}
