package io.vertigrad.internal.exchange;

import java.util.Optional;
import java.util.function.BooleanSupplier;

/** Where a job's newest parameters come from; belongs to the thread of the model they go into. */
@FunctionalInterface
public interface SnapshotSource {

  /**
   * Brings parameters of at least this version into the model.
   *
   * @param stop becomes true when nobody wants them any more
   * @return empty when stopped, or when the reader is not welcome
   * @throws ExchangeException when they cannot be had; the message names who did not answer
   */
  Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop);

  /** What there is now. */
  default ParameterSnapshot pull() {
    return pull(0, () -> false)
        .orElseThrow(() -> new ExchangeException("parameters may not be read here: join first"));
  }
}
