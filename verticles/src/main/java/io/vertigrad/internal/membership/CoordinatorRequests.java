package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.internal.membership.ControlRequest.Leave;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;

/** Sends a member's requests to the coordinator. */
final class CoordinatorRequests {

  private static final long LEAVE_MILLIS = 2_000;

  private final Vertx vertx;
  private final Addresses addresses;

  CoordinatorRequests(Vertx vertx, Addresses addresses) {
    this.vertx = vertx;
    this.addresses = addresses;
  }

  /** Sends a request and returns its answer; fails after this many milliseconds. */
  Future<ControlAnswer> request(ControlRequest request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx
        .eventBus()
        .<JsonObject>request(addresses.coordinator(), ControlCodec.write(request), options)
        .map(message -> ControlCodec.answer(message.body()));
  }

  /** Reports that a member leaves, with its last status. */
  Future<Void> leave(Admission leaving, LeaveReason reason, MemberStatus status) {
    return request(new Leave(leaving, reason, status), LEAVE_MILLIS).mapEmpty();
  }

  /** Returns the event bus address of this member. */
  String own(Admission member) {
    return addresses.member(member.role().lower(), member.rank(), member.incarnation());
  }
}
