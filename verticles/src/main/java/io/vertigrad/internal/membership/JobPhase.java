package io.vertigrad.internal.membership;

import java.util.Locale;

/** The phase of a job. */
enum JobPhase {
  /** The job waits for its members. */
  WAITING,
  /** A membership is, or is about to be, in force. */
  RUNNING,
  /** The job runs, but no worker starts another step and no limit passes. */
  PAUSED,
  /** The job ends early: steps that were started are finished, then the end is evaluated. */
  ENDING,
  /** The last worker has finished; the end is being evaluated. */
  FINISHING,
  /** The result is known; members wait to be released. */
  FINISHED,
  /** The job could not go on; its members have been released. */
  FAILED,
  /** The members have been released. */
  STOPPED;

  /** Returns whether the job admits no new members. */
  boolean over() {
    return this == FINISHED || this == FAILED || this == STOPPED;
  }

  /** Returns whether the members have been released. */
  boolean released() {
    return this == FAILED || this == STOPPED;
  }

  String lower() {
    return name().toLowerCase(Locale.ROOT);
  }
}
