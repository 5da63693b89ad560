package io.vertigrad.strategy;

/** A configured strategy whose endpoint is beside each worker; such a job has no servers. */
public interface PeerStrategyFactory extends StrategyFactory {

  /**
   * The rule of one worker.
   *
   * @param context the worker's replica, group and line to the others
   * @return a rule that is used by one thread
   */
  PeerStrategy create(PeerContext context);

  /**
   * After so many steps all replicas are equal, bit for bit; 0 where that never is so.
   *
   * @return a number of steps, or 0
   */
  default long agreesEvery() {
    return 0;
  }

  /** There is no server to sit beside. */
  @Override
  default ServerStrategy create(ServerStrategyContext context) {
    throw new UnsupportedOperationException("this strategy sits beside workers, not servers");
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
