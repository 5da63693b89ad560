package io.vertigrad.launcher.deploy;

import io.vertigrad.training.JobFailedException;

/**
 * Reports that a coordinator that had answered was silent for too long: it died, or the network was
 * cut.
 */
public final class CoordinatorLostException extends JobFailedException {

  private static final long serialVersionUID = 1L;

  CoordinatorLostException(String message) {
    super(message);
  }
}
