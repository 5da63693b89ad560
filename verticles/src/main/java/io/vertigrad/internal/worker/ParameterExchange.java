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
 * One incarnation's way from its gradient to its next parameters: {@link ServerExchange} with the
 * shards of parameter servers, {@link StrategyExchange} with the strategy verticle beside the
 * worker.
 *
 * <p>{@link #membershipChanged}, {@link #wake} and {@link #checkpoint} may be called by any thread,
 * the rest by the training loop's.
 */
public interface ParameterExchange {

  /** How an exchange ended when it did not fail. */
  enum Ending {
    /** The next parameters are in the model. */
    COMPLETE,
    /** This incarnation is not known any more: join again. */
    REJOIN,
    /** The step was let go of: this incarnation ends, or the group has changed. */
    ABANDONED
  }

  /**
   * What became of a step.
   *
   * @param ending if it did not end {@code COMPLETE}, the rest means nothing
   * @param applied whether the gradient was applied anywhere
   * @param leftOut why it was applied nowhere, not being finite; empty otherwise
   * @param staleness at which servers applied it, the largest of its partitions
   */
  record Step(Ending ending, boolean applied, Optional<String> leftOut, OptionalInt staleness) {

    static Step without(Ending ending) {
      return new Step(ending, false, Optional.empty(), OptionalInt.empty());
    }
  }

  /** Takes what is final of a gradient while the rest is being computed; on the loop's thread. */
  interface Overlap extends GradientListener {

    /** It begins to be computed on so many samples. */
    void begin(int samples);
  }

  /**
   * How parts of the next step's gradient may be on their way before {@link #exchange}; empty where
   * it is to be whole.
   *
   * @param step steps that this worker's rank has taken
   */
  default Optional<Overlap> overlap(long step) {
    return Optional.empty();
  }

  /** Lets others reach this worker; blocks until they can. */
  default void open() {}

  /** Tells who takes part from now on. */
  void membershipChanged(Membership now);

  /** Makes a thread that waits here look again whether it is to stop. */
  void wake();

  /** True when parameters must be fetched before the next step: at the start, or in a new group. */
  boolean changed();

  /** Brings the parameters to start from into the model; blocks. */
  Ending fetch();

  /** True when a step may begin with the parameters in the model. */
  boolean ready();

  /** Version of the parameters in the model, the lowest where partitions differ. */
  long version();

  /** The highest version of any partition. */
  default long newest() {
    return version();
  }

  /**
   * Number of the rank's next step after parameters were fetched.
   *
   * @param counted steps that this worker knows of
   */
  default long step(long counted) {
    return counted;
  }

  /**
   * Gradient out, next parameters into the model; blocks.
   *
   * @param step steps that this worker's rank has taken
   */
  Step exchange(Computed gradient, long step);

  /** True where a worker stays after its last step, because the others need it. */
  boolean staysForOthers();

  /** The job is paused at this version: whoever reads parameters may have these. */
  default void hold(long version) {}

  /**
   * The job ends at this version, earlier than it was meant to.
   *
   * @return true once readers were shown it
   */
  default boolean end(long version) {
    return false;
  }

  /** No step may begin: waits for news, at most some 50 ms. */
  void idle(long version);

  /** What went to whom and came from whom so far. */
  TrafficCounters traffic();

  /** Samples applied by all workers, where no server counts them; 0 elsewhere. */
  default long samplesOfAll() {
    return 0;
  }

  /** What else there is to tell, with every report of progress. */
  default List<TrainingEvent> news() {
    return List.of();
  }

  /** Writes a checkpoint as soon as no step goes on; fails where workers keep none. */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Lets go of whatever {@link #open} took; blocks, at most some seconds. */
  default void close() {}
}
