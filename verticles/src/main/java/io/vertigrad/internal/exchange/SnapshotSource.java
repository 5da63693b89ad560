package io.vertigrad.internal.exchange;

import java.util.Optional;
import java.util.function.BooleanSupplier;

/** A source of a job's newest parameters. Belongs to the thread of the model that gets them. */
@FunctionalInterface
public interface SnapshotSource {

  /**
   * Loads parameters of at least this version into the model. Blocks.
   *
   * @param stop returns true when nobody wants them any more
   * @return empty if stopped, or if the reader is refused
   * @throws ExchangeException if the parameters are not available; the message names the member
   *     that did not answer
   */
  Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop);

  /** Pulls the current parameters. */
  default ParameterSnapshot pull() {
    return pull(0, () -> false)
        .orElseThrow(() -> new ExchangeException("parameters may not be read here: join first"));
  }
}
