package io.vertigrad.strategy;

import java.util.function.Function;

/** A configured strategy, from which each partition gets its own instance. */
public interface StrategyFactory {

  /** The rule for one partition. */
  ServerStrategy create(ServerStrategyContext context);

  /**
   * Version at which a job ends: {@code steps} where all workers share a round, {@code steps *
   * workers} where each gradient is an update of its own.
   */
  long lastVersion(long steps, int workers);

  /**
   * True when workers move in rounds: a newcomer then starts at an agreed round, so that no
   * partition waits for it earlier than another.
   */
  boolean lockstep();

  /**
   * True when a worker's step may not end before the others have begun the same one: a pause then
   * lets everyone finish it.
   */
  default boolean stepsTogether() {
    return lockstep();
  }

  /**
   * How many servers a job has that asks for {@code wanted}; none where the workers exchange among
   * themselves.
   */
  default int servers(int wanted) {
    return wanted;
  }

  /** True when gradients travel, which may be compressed; false when parameters do. */
  default boolean compresses() {
    return true;
  }

  /** A rule beside a server for which all workers share a round: the job has {@code steps}. */
  static StrategyFactory inRounds(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(true, rule);
  }

  /** A rule beside a server that takes each gradient for itself. */
  static StrategyFactory perGradient(Function<ServerStrategyContext, ServerStrategy> rule) {
    return new ServerStrategyFactory(false, rule);
  }
}
