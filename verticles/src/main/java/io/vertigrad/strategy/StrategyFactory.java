package io.vertigrad.strategy;

import java.util.function.Function;

/** A configured strategy: a {@link ServerStrategyFactory} or a {@link PeerStrategyFactory}. */
public sealed interface StrategyFactory permits ServerStrategyFactory, PeerStrategyFactory {

  /**
   * Returns the version at which a job ends.
   *
   * @param steps steps of each worker, at least 1
   * @param workers how many workers the job starts with
   * @return {@code steps} where all workers share a round, {@code steps * workers} where each
   *     gradient is an update of its own
   */
  long lastVersion(long steps, int workers);

  /**
   * Tells whether workers move in rounds. A newcomer then starts at an agreed round, so that no
   * partition waits for it earlier than another.
   *
   * @return true when they do
   */
  boolean lockstep();

  /**
   * Tells whether a worker's step cannot end before the others have begun the same one. A pause
   * then lets everyone finish it.
   *
   * @return true when it cannot; by default where workers move in rounds
   */
  default boolean stepsTogether() {
    return lockstep();
  }

  /**
   * Tells whether a step needs every rank that the job is shared out to ({@code workers.count}), so
   * that the others wait for the replacement of a worker that was lost.
   *
   * @return true when it does; by default where workers move in rounds
   */
  default boolean needsEveryRank() {
    return lockstep();
  }

  /**
   * Returns how many servers a job has.
   *
   * @param wanted how many the job file asks for
   * @return that number, or 0 where the workers exchange among themselves
   */
  default int servers(int wanted) {
    return wanted;
  }

  /**
   * Tells whether gradients travel, which may be compressed, or parameters, which may not.
   *
   * @return true for gradients
   */
  default boolean compresses() {
    return true;
  }

  /**
   * Makes the factory of a rule beside a server for which all workers share a round; such a job has
   * as many versions as {@code steps}.
   *
   * @param rule makes the rule of one partition
   * @return the factory
   */
  static ServerStrategyFactory inRounds(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(true, true, rule);
  }

  /**
   * Makes the factory of a rule beside a server that takes each gradient for itself; such a job has
   * {@code steps} versions for each worker.
   *
   * @param rule makes the rule of one partition
   * @return the factory
   */
  static ServerStrategyFactory perGradient(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(false, false, rule);
  }
}
