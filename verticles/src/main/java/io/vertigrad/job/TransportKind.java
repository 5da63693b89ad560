package io.vertigrad.job;

/** What carries frames between processes. */
public enum TransportKind {
  /** Shared memory to processes that prove to be on the same host, streams to the others. */
  AUTO,
  /** Shared memory to all others; one that is not on the same host is not reached. */
  SHARED,
  /** TCP connections of their own, which the event bus arranges. */
  STREAM,
  /** Messages of the event bus. */
  BUS;

  /**
   * Tells whether frames may go through memory that two processes share.
   *
   * @return true for {@link #AUTO} and {@link #SHARED}
   */
  public boolean shares() {
    return this == AUTO || this == SHARED;
  }
}
