package io.vertigrad.internal.worker;

import io.vertigrad.compute.GradientListener;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Exchanges the gradients of one incarnation for the next parameters. {@link ServerExchange} works
 * with the shards of parameter servers, {@link StrategyExchange} with the strategy verticle in the
 * worker's own JVM.
 *
 * <p>{@link #membershipChanged}, {@link #wake} and {@link #checkpoint} may be called by any thread,
 * the rest only by the training loop's thread.
 */
public interface ParameterExchange {

  /** How an exchange ended if it did not fail. */
  enum Ending {
    /** The next parameters are in the model. */
    COMPLETE,
    /** This incarnation is no longer a member: join again. */
    REJOIN,
    /** The step was given up: this incarnation ends, or the group has changed. */
    ABANDONED
  }

  /**
   * The result of a step.
   *
   * @param ending if it is not {@code COMPLETE}, the other components have no meaning
   * @param applied true if the gradient was applied anywhere
   * @param leftOut why a gradient that is not finite was not applied; empty otherwise
   * @param staleness staleness at which servers applied it, the largest of its partitions
   */
  record Step(Ending ending, boolean applied, Optional<String> leftOut, OptionalInt staleness) {

    static Step without(Ending ending) {
      return new Step(ending, false, Optional.empty(), OptionalInt.empty());
    }
  }

  /** Takes final parts of a gradient while the rest is being computed, on the loop's thread. */
  interface Overlap extends GradientListener {

    /** Begins a gradient of this many samples. */
    void begin(int samples);
  }

  /**
   * Returns how to send parts of the next step's gradient before {@link #exchange}. Empty if the
   * gradient must be complete first.
   *
   * @param step number of steps that this worker's rank has taken
   */
  default Optional<Overlap> overlap(long step) {
    return Optional.empty();
  }

  /** Makes this worker reachable for others. Blocks until it is. */
  default void open() {}

  /** Sets the new membership of the job. */
  void membershipChanged(Membership now);

  /** Wakes a thread that waits in this exchange, so that it checks whether it has to stop. */
  void wake();

  /** Returns true if the next step needs a fetch first: at the start or in a new group. */
  boolean changed();

  /** Loads the parameters to start from into the model. Blocks. */
  Ending fetch();

  /** Returns true if a step may begin with the parameters in the model. */
  boolean ready();

  /** Returns the version of the parameters in the model, the lowest if partitions differ. */
  long version();

  /** Returns the highest version of any partition. */
  default long newest() {
    return version();
  }

  /**
   * Returns the number of the rank's next step after parameters were fetched.
   *
   * @param counted number of steps that this worker has counted
   */
  default long step(long counted) {
    return counted;
  }

  /**
   * Sends the gradient and loads the next parameters into the model. Blocks.
   *
   * @param step number of steps that this worker's rank has taken
   */
  Step exchange(Computed gradient, long step);

  /** Returns true if the worker must stay after its last step because others need it. */
  boolean staysForOthers();

  /** Offers the parameters of this version to readers while the job is paused at it. */
  default void hold(long version) {}

  /**
   * Ends the job at this version, earlier than configured.
   *
   * @return true once readers can get this version
   */
  default boolean end(long version) {
    return false;
  }

  /** Waits at most about 50 ms for a change, while no step may begin. */
  void idle(long version);

  /** Returns the bytes sent to and received from each partner so far. */
  TrafficCounters traffic();

  /** Returns the samples applied by all workers if no server counts them; otherwise 0. */
  default long samplesOfAll() {
    return 0;
  }

  /** Returns further events, which are published with every progress report. */
  default List<TrainingEvent> news() {
    return List.of();
  }

  /** Writes a checkpoint as soon as no step is running. Fails where workers keep none. */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Releases everything that {@link #open} took. Blocks for at most a few seconds. */
  default void close() {}
}
