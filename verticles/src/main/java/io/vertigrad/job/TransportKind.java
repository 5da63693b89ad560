package io.vertigrad.job;

/** What carries frames between processes. */
public enum TransportKind {
  /** TCP connections of their own, which the event bus arranges. */
  STREAM,
  /** Messages of the event bus. */
  BUS
}
