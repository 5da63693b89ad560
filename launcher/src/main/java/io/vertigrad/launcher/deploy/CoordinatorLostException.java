package io.vertigrad.launcher.deploy;

import io.vertigrad.training.JobFailedException;

/**
 * Reports that a coordinator that had answered was silent for too long: it died, or the network was
 * cut.
 */
public final class CoordinatorLostException extends JobFailedException {

  private static final long serialVersionUID = 1L;

  private final boolean silent;

  /**
   * Creates the exception.
   *
   * @param silent true if nobody answered for {@code exchange.orphanSeconds}, false if the cluster
   *     has lost the coordinator's node
   */
  CoordinatorLostException(String message, boolean silent) {
    super(message);
    this.silent = silent;
  }

  /** Returns true if nobody answered for {@code exchange.orphanSeconds}. */
  public boolean silent() {
    return silent;
  }
}
