package io.vertigrad.strategy;

import java.util.function.Function;

/** A configured strategy: a {@link ServerStrategyFactory} or a {@link PeerStrategyFactory}. */
public sealed interface StrategyFactory permits ServerStrategyFactory, PeerStrategyFactory {

  /**
   * Returns the version at which a job ends.
   *
   * @param steps number of steps of each worker, at least 1
   * @param workers number of workers that the job starts with
   * @return {@code steps} when all workers share a round, {@code steps * workers} when each
   *     gradient is an update of its own
   */
  long lastVersion(long steps, int workers);

  /**
   * Returns whether workers move in rounds. A newcomer then starts at an agreed round, so that no
   * partition waits for it earlier than another.
   *
   * @return true when they do
   */
  boolean lockstep();

  /**
   * Returns whether a worker's step can end only after the others have begun the same one. A pause
   * then lets all workers finish the step.
   *
   * @return true when it cannot end earlier; by default when workers move in rounds
   */
  default boolean stepsTogether() {
    return lockstep();
  }

  /**
   * Returns whether a step needs every rank that the job's work is divided among ({@code
   * workers.count}), so that the others wait for the replacement of a lost worker.
   *
   * @return true when it does; by default when workers move in rounds
   */
  default boolean needsEveryRank() {
    return lockstep();
  }

  /**
   * Returns the number of servers of a job.
   *
   * @param wanted number that the job file asks for
   * @return that number, or 0 when the workers exchange among themselves
   */
  default int servers(int wanted) {
    return wanted;
  }

  /**
   * Returns whether gradients are exchanged, which may be compressed, or parameters, which may not.
   *
   * @return true for gradients
   */
  default boolean compresses() {
    return true;
  }

  /**
   * Creates the factory of a rule beside a server in which all workers share a round. Such a job
   * has as many versions as {@code steps}.
   *
   * @param rule creates the rule of one partition
   * @return the factory
   */
  static ServerStrategyFactory inRounds(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(true, true, rule);
  }

  /**
   * Creates the factory of a rule beside a server that applies each gradient separately. Such a job
   * has {@code steps} versions for each worker.
   *
   * @param rule creates the rule of one partition
   * @return the factory
   */
  static ServerStrategyFactory perGradient(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(false, false, rule);
  }
}
