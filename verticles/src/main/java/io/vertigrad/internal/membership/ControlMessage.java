package io.vertigrad.internal.membership;

import io.vertigrad.strategy.Membership;

/** What the coordinator publishes to every member. */
sealed interface ControlMessage {

  /** Every server has taken this membership over. */
  record MembershipPublished(Membership membership) implements ControlMessage {}

  /** Workers are held back, further than before, or not any more. */
  record PausePublished(Pause pause) implements ControlMessage {}

  /** Every member is to let go. */
  record StopPublished(String why) implements ControlMessage {}
}
