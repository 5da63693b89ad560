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
 * What a worker without servers owes others besides its gradients: parameters to whoever reads
 * them; a stage also activations to its neighbours, checkpoints and tests.
 *
 * <p>{@link #membershipChanged}, {@link #wake} and {@link #checkpoint} may be called by any thread;
 * {@link #settle} is called by the strategy's while the worker waits, the rest by the worker's.
 */
public interface ReplicaDuties {

  /** Answers whoever reads this worker's parameters. */
  FrameEndpoint endpoint();

  /** Lets other stages reach this one. */
  default Future<?> open() {
    return Future.succeededFuture();
  }

  /** Tells who takes part from now on, before the strategy hears of it. */
  default void membershipChanged(Membership now) {}

  /** Makes a thread that waits look again whether it is to stop. */
  default void wake() {}

  /** True while no newer group than the one settled with was heard of. */
  default boolean current() {
    return true;
  }

  /**
   * Settles with a new group where to go on, before the strategy does.
   *
   * @param rule the strategy, which may have to be given what it remembered
   * @return the group of the strategy; empty when no step can be taken with this one
   */
  default Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    return Optional.of(all);
  }

  /** True when what {@link #settle} refused would be settled now, with the same group. */
  default boolean reconsiders() {
    return false;
  }

  /**
   * Says how to ask the strategy what it remembers beside the replica, for checkpoints.
   *
   * @param strategyMemory gives a copy; belongs to the worker's thread
   */
  default void remembers(Supplier<float[]> strategyMemory) {}

  /** A step has led to this version; called before {@link #reached}. */
  default void stepped(long version) {}

  /** The replica is about to change. */
  default void changing() {}

  /** True while the parameters are the initial ones, for a strategy that settles on its own. */
  boolean fresh();

  /**
   * A version was reached, by a step or by settling.
   *
   * @param last true when the job ends with it
   */
  void reached(long version, float[] parameters, boolean last);

  /** The job is paused at this version, which readers may have. */
  void hold(long version, float[] parameters);

  /** The job has ended at this version, earlier than it was meant to. */
  void end(long version, float[] parameters);

  /** A gradient was left out, for it was not finite. */
  default void leftOut(long version, double loss) {}

  /** No step may begin. */
  default void idle() {}

  /** What went to and came from other stages. */
  default TrafficCounters traffic() {
    return new TrafficCounters();
  }

  /** Writes a checkpoint when no step goes on. */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Lets go of whatever {@link #open} took. */
  default Future<?> close() {
    return Future.succeededFuture();
  }
}
