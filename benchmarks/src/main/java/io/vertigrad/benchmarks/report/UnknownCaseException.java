package io.vertigrad.benchmarks.report;

/** A benchmark was asked for cases it does not have; the one-line message lists those it has. */
public final class UnknownCaseException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  UnknownCaseException(String message) {
    super(message);
  }
}
