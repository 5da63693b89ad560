package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlRequest.PauseReply;

/**
 * What a member has heard of pauses, and what it says to them with each heartbeat; belongs to the
 * member's context.
 */
final class PauseListener {

  private final MemberHandler handler;
  private final PauseClock clock = new PauseClock();
  private Pause newest = Pause.NONE;
  private long begun;

  PauseListener(MemberHandler handler) {
    this.handler = handler;
  }

  PauseClock clock() {
    return clock;
  }

  /** Forgets everything, before another admission: numbers may begin anew. */
  void reset() {
    if (newest != Pause.NONE) {
      obey(Pause.NONE);
    }
  }

  /** Takes a word if it is a new one; true when the coordinator must know. */
  boolean hear(Pause word) {
    if (word.number() <= newest.number()) {
      return false;
    }
    obey(word);
    return true;
  }

  /** The number of the last word heard, and where the step leads that was begun before it. */
  PauseReply reply() {
    return new PauseReply(newest.number(), begun);
  }

  private void obey(Pause pause) {
    newest = pause;
    clock.hold(PauseClock.Reason.PAUSE, pause.stopsClocks());
    begun = handler.paused(pause);
  }
}
