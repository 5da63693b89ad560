package io.vertigrad.benchmarks.report;

/**
 * Reports that a benchmark does not have the cases that were asked for; the one-line message lists
 * those it has.
 */
public final class UnknownCaseException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  UnknownCaseException(String message) {
    super(message);
  }
}
