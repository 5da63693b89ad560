package io.vertigrad.internal.worker;

import io.vertigrad.compute.GradientListener;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
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

  /** The next possible action of the training loop. */
  enum Status {
    /** Parameters must be fetched before the next step: at the start or in a new group. */
    NEEDS_FETCH,
    /** A step may begin with the parameters in the model. */
    READY,
    /** No step may begin yet. */
    WAITING
  }

  /**
   * The state between two steps.
   *
   * @param status what can be done next
   * @param version version of the parameters in the model, the lowest if partitions differ
   */
  record State(Status status, long version) {}

  /**
   * The result of a fetch.
   *
   * @param highestVersion highest version of any partition
   * @param nextStep number of the rank's next step
   */
  record Fetch(Ending ending, long highestVersion, long nextStep) {}

  /**
   * The result of a step.
   *
   * @param ending if it is not {@code COMPLETE}, the other components have no meaning
   * @param applied true if the gradient was applied anywhere
   * @param leftOutReason why a gradient that is not finite was not applied; empty otherwise
   * @param staleness staleness at which servers applied it, the largest of its partitions
   * @param highestVersion highest version of any partition
   * @param traffic bytes sent to and received from each partner by this incarnation so far
   */
  record Step(
      Ending ending,
      boolean applied,
      Optional<String> leftOutReason,
      OptionalInt staleness,
      long highestVersion,
      TrafficCounters traffic) {

    /** Returns a copy with the traffic of other partners added. */
    public Step plus(TrafficCounters more) {
      TrafficCounters all = new TrafficCounters();
      all.add(more);
      all.add(traffic);
      return new Step(ending, applied, leftOutReason, staleness, highestVersion, all);
    }

    /** Returns the result of a step that is not complete. */
    public static Step without(Ending ending) {
      return new Step(
          ending, false, Optional.empty(), OptionalInt.empty(), 0, new TrafficCounters());
    }
  }

  /**
   * The additions of a progress report to the counters of the training loop.
   *
   * @param samplesOfAll samples applied by all workers if no server counts them; otherwise 0
   * @param saveMillis what the last checkpoint cost, in milliseconds; 0 before the first
   * @param events further events to publish
   */
  record Report(long samplesOfAll, long saveMillis, List<TrainingEvent> events) {

    /** A report that adds nothing. */
    static final Report NONE = new Report(0, 0, List.of());
  }

  /** Takes final parts of a gradient while the rest is being computed, on the loop's thread. */
  interface Overlap extends GradientListener {

    /** Begins a gradient of this many samples. */
    void begin(int samples);
  }

  /** Computes the gradient of a step at the parameters in the model. */
  @FunctionalInterface
  interface Computation {

    /**
     * Computes the gradient. Blocks.
     *
     * @param overlap takes parts of the gradient early; empty if it must be complete first. It is
     *     ignored if the gradient cannot be reported in parts
     */
    Computed compute(Optional<Overlap> overlap);
  }

  /** Makes this worker reachable for others. Blocks until it is. */
  void open();

  /** Sets the new membership of the job. */
  void membershipChanged(Membership now);

  /** Wakes a thread that waits in this exchange, so that it checks whether it has to stop. */
  void wake();

  /** Returns what can be done next, and the version of the parameters in the model. */
  State state();

  /**
   * Loads the parameters to start from into the model. Blocks.
   *
   * @param step number of steps that this worker has counted
   */
  Fetch fetch(long step);

  /**
   * Has the gradient computed, sends it, and loads the next parameters into the model. Blocks.
   *
   * @param step number of steps that this worker's rank has taken
   */
  Step exchange(long step, Computation gradient);

  /**
   * Offers the parameters of this version to readers, if this worker has all of them.
   *
   * @param last true if the job ends at this version, earlier than configured; false while it is
   *     paused at it
   * @return true once readers can get this version
   */
  default boolean offer(long version, boolean last) {
    return false;
  }

  /** Waits at most about 50 ms for a change, while no step may begin. */
  void awaitChange(long version);

  /** Writes a checkpoint as soon as no step is running. Fails where workers keep none. */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Returns what the next progress report adds. */
  default Report report() {
    return Report.NONE;
  }

  /** Releases everything that {@link #open} took. Blocks for at most a few seconds. */
  void close();
}
