package io.vertigrad.job;

/** The transport of frames between processes. */
public enum TransportKind {
  /** Shared memory to processes that prove to be on the same host, streams to all others. */
  AUTO,
  /** Shared memory to all processes; a process on another host cannot be reached. */
  SHARED,
  /** Separate TCP connections, which are arranged over the event bus. */
  STREAM,
  /** Messages of the event bus. */
  BUS;

  /**
   * Returns whether frames may use memory that two processes share.
   *
   * @return true for {@link #AUTO} and {@link #SHARED}
   */
  public boolean shares() {
    return this == AUTO || this == SHARED;
  }
}
