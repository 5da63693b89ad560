package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.strategy.Membership;

/** A message that the coordinator publishes to every member. */
sealed interface ControlMessage {

  /** Every server has accepted this membership. */
  record MembershipPublished(Membership membership) implements ControlMessage {}

  /** The limit up to which training may go has changed. */
  record PausePublished(Pause pause) implements ControlMessage {}

  /** Every member must stop. */
  record StopPublished(@Key("stop") String why) implements ControlMessage {}
}
