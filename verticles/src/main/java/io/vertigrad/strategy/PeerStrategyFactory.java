package io.vertigrad.strategy;

/** A configured strategy whose endpoint is beside each worker; such a job has no servers. */
public non-sealed interface PeerStrategyFactory extends StrategyFactory {

  /**
   * Makes the rule of one worker.
   *
   * @param context what the rule is given
   * @return a rule that has seen no group
   */
  PeerStrategy create(PeerContext context);

  /**
   * Returns after how many steps all replicas are equal, bit for bit.
   *
   * @return steps; 0 where that never is so
   */
  default long agreesEvery() {
    return 0;
  }

  /** A version is a step of every worker. */
  @Override
  default long lastVersion(long steps, int workers) {
    return steps;
  }

  @Override
  default boolean lockstep() {
    return true;
  }

  /** Most swap parameters, where what is left out is lost for good. */
  @Override
  default boolean compresses() {
    return false;
  }

  @Override
  default int servers(int wanted) {
    return 0;
  }
}
