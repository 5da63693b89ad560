package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The work that a worker without servers does for others besides its gradients: it serves
 * parameters to readers. A pipeline stage also exchanges activations with its neighbour stages,
 * writes checkpoints and runs tests.
 *
 * <p>{@link #membershipChanged}, {@link #wake} and {@link #checkpoint} may be called by any thread.
 * {@link #settle} is called by the strategy's thread while the worker waits, the rest by the
 * worker's thread.
 */
public interface ReplicaDuties {

  /** Returns the endpoint that answers readers of this worker's parameters. */
  FrameEndpoint endpoint();

  /** Makes this stage reachable for other stages. */
  default Future<?> open() {
    return Future.succeededFuture();
  }

  /** Sets the new membership, before the strategy gets it. */
  default void membershipChanged(Membership now) {}

  /** Wakes a waiting thread, so that it checks whether it has to stop. */
  default void wake() {}

  /** Returns true if there is no newer group than the one that {@link #settle} accepted. */
  default boolean current() {
    return true;
  }

  /**
   * Agrees with a new group on a version to continue from, before the strategy does.
   *
   * @param rule the strategy, whose memory may have to be restored
   * @return the group of the strategy; empty if no step can be taken with this group
   */
  default Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    return Optional.of(all);
  }

  /** Returns true if {@link #settle} refused a group and would accept the same group now. */
  default boolean reconsiders() {
    return false;
  }

  /**
   * Sets the source of the strategy's memory, which a checkpoint holds besides the replica.
   *
   * @param strategyMemory returns a copy; belongs to the worker's thread
   */
  default void remembers(Supplier<float[]> strategyMemory) {}

  /** Handles a step that led to this version. Called before {@link #reached}. */
  default void stepped(long version) {}

  /** Called before the replica changes. */
  default void changing() {}

  /**
   * Returns true while the parameters are the initial ones, for a strategy that agrees on its own.
   */
  boolean fresh();

  /**
   * Handles a version that was reached by a step or by {@link #settle}.
   *
   * @param last true if the job ends with this version
   */
  void reached(long version, float[] parameters, boolean last);

  /** Offers this version to readers while the job is paused at it. */
  void hold(long version, float[] parameters);

  /** Offers this version to readers after the job has ended at it, earlier than configured. */
  void end(long version, float[] parameters);

  /** Handles a gradient that was left out because it was not finite. */
  default void leftOut(long version, double loss) {}

  /** Called repeatedly while no step may begin. */
  default void idle() {}

  /** Returns the bytes sent to and received from other stages. */
  default TrafficCounters traffic() {
    return new TrafficCounters();
  }

  /** Writes a checkpoint when no step is running. */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Releases everything that {@link #open} took. */
  default Future<?> close() {
    return Future.succeededFuture();
  }
}
