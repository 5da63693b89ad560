package io.vertigrad.strategy;

/** A configured strategy that runs beside each worker. Its job has no servers. */
public non-sealed interface PeerStrategyFactory extends StrategyFactory {

  /**
   * Creates the rule of one worker.
   *
   * @param context the rule's environment
   * @return a rule without a group
   */
  PeerStrategy create(PeerContext context);

  /**
   * Returns the number of steps after which all replicas are equal, bit for bit.
   *
   * @return steps; 0 if they never are
   */
  default long agreesEvery() {
    return 0;
  }

  /** Returns {@code steps}: a version is a step of every worker. */
  @Override
  default long lastVersion(long steps, int workers) {
    return steps;
  }

  @Override
  default boolean lockstep() {
    return true;
  }

  /**
   * Returns false: most rules exchange parameters, where compression would lose information for
   * good.
   */
  @Override
  default boolean compresses() {
    return false;
  }

  @Override
  default int servers(int wanted) {
    return 0;
  }
}
