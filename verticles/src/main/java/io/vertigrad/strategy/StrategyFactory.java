package io.vertigrad.strategy;

import java.util.function.Function;

/** A configured strategy, from which each partition gets its own instance. */
public interface StrategyFactory {

  /**
   * The rule for one partition.
   *
   * @param context the partition, its store and the members
   * @return a rule that is used by the server's event loop alone
   */
  ServerStrategy create(ServerStrategyContext context);

  /**
   * Version at which a job ends: {@code steps} where all workers share a round, {@code steps *
   * workers} where each gradient is an update of its own.
   *
   * @param steps steps of each worker
   * @param workers workers of the job
   * @return the last version, at least 1
   */
  long lastVersion(long steps, int workers);

  /**
   * True when workers move in rounds: a newcomer then starts at an agreed round, so that no
   * partition waits for it earlier than another.
   *
   * @return true for rounds, false where each gradient is a version
   */
  boolean lockstep();

  /**
   * True when a worker's step may not end before the others have begun the same one: a pause then
   * lets everyone finish it.
   *
   * @return false unless a strategy says so
   */
  default boolean stepsTogether() {
    return lockstep();
  }

  /**
   * How many servers a job has that asks for {@code wanted}; none where the workers exchange among
   * themselves.
   *
   * @param wanted the job file's {@code servers.count}
   * @return how many are started
   */
  default int servers(int wanted) {
    return wanted;
  }

  /**
   * True when gradients travel, which may be compressed; false when parameters do.
   *
   * @return true unless a strategy says otherwise
   */
  default boolean compresses() {
    return true;
  }

  /**
   * A rule beside a server for which all workers share a round: the job has {@code steps}.
   *
   * @param rule makes the rule for a partition
   * @return a factory
   */
  static StrategyFactory inRounds(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(true, rule);
  }

  /**
   * A rule beside a server that takes each gradient for itself.
   *
   * @param rule makes the rule for a partition
   * @return a factory
   */
  static StrategyFactory perGradient(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(false, rule);
  }
}
