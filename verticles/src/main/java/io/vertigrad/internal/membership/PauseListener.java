package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlRequest.PauseReply;

/**
 * The newest pause that a member has received and its reply, sent with each heartbeat; belongs to
 * the member's context.
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

  /** Forgets everything before another admission, because numbers may start again. */
  void reset() {
    if (newest != Pause.NONE) {
      obey(Pause.NONE);
    }
  }

  /** Takes an instruction if it is new; returns whether the coordinator must be told. */
  boolean hear(Pause word) {
    if (word.number() <= newest.number()) {
      return false;
    }
    obey(word);
    return true;
  }

  /** Returns the number of the newest instruction and the version after the last started step. */
  PauseReply reply() {
    return new PauseReply(newest.number(), begun);
  }

  private void obey(Pause pause) {
    newest = pause;
    clock.hold(PauseClock.Reason.PAUSE, pause.stopsClocks());
    begun = handler.paused(pause);
  }
}
