package io.vertigrad.internal.membership;

import java.util.Locale;

/** How far a job is. */
public enum JobPhase {
  /** Members are still to come. */
  WAITING,
  /** A membership is, or is about to be, in force. */
  RUNNING,
  /** As running, but no worker begins another step and no limit passes. */
  PAUSED,
  /** As paused, for good: once every step that was begun is finished, the end is evaluated. */
  ENDING,
  /** The last worker has finished; the end is being evaluated. */
  FINISHING,
  /** The result is there; members wait to be let go. */
  FINISHED,
  /** It could not go on; members have been let go. */
  FAILED,
  /** Members have been let go. */
  STOPPED;

  /** True when nobody new is wanted. */
  boolean over() {
    return this == FINISHED || this == FAILED || this == STOPPED;
  }

  /** True when members should not be here any more. */
  boolean released() {
    return this == FAILED || this == STOPPED;
  }

  String lower() {
    return name().toLowerCase(Locale.ROOT);
  }
}
