package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.internal.membership.ControlRequest.Leave;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
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
  Future<ControlAnswer> request(ControlRequest request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx
        .eventBus()
        .<JsonObject>request(addresses.coordinator(), ControlCodec.write(request), options)
        .map(message -> ControlCodec.answer(message.body()));
  }

  /** Says that a member leaves, and what it said last. */
  Future<Void> leave(Admission leaving, LeaveReason reason, MemberStatus status) {
    return request(new Leave(leaving, reason, status), LEAVE_MILLIS).mapEmpty();
  }

  /** Where this member itself is reached. */
  String own(Admission member) {
    return addresses.member(member.role().lower(), member.rank(), member.incarnation());
  }
}
