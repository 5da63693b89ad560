package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;

/**
 * Brings the replicas of a new group to a common state. In the first group all take the first
 * rank's parameters. In later groups newcomers take the average of the other workers, which keep
 * their own parameters.
 */
public final class InitialSync {

  /** Number of rounds that this uses; exchanges of a new group are numbered from here. */
  public static final long ROUNDS = 2;

  private final PeerContext context;
  private final PeerGroup group;

  /**
   * Creates the exchange that opens a group.
   *
   * @param context connects this worker to the others
   * @param group the workers
   */
  public InitialSync(PeerContext context, PeerGroup group) {
    this.context = context;
    this.group = group;
  }

  /**
   * Blocks until all workers of the group agree on the next step.
   *
   * @param fresh true if this worker has its initial parameters, see {@link
   *     io.vertigrad.strategy.PeerStrategy#open}
   * @return the progress of all workers before
   */
  public StateAllGather synchronize(boolean fresh) {
    StateAllGather states = agree(fresh);
    resume(states);
    return states;
  }

  /**
   * Synchronises workers that do not move in rounds; each keeps its own count of steps.
   *
   * @param fresh true if this worker has its initial parameters
   */
  public void synchronizeKeepingCounts(boolean fresh) {
    StateAllGather states = agree(fresh);
    if (fresh) {
      resume(states);
    }
  }

  /**
   * Gives all workers the state of the one with the most steps, bit for bit: its parameters, its
   * progress, and what its optimizer and its rule remember. For rules whose replicas are equal.
   *
   * @param fresh true if this worker has its initial parameters
   * @param optimizer of the replica
   * @param memory what the rule remembers, as long at all workers; overwritten
   */
  public void copyFurthest(boolean fresh, Optimizer optimizer, float[] memory) {
    Replica replica = context.replica();
    StateAllGather states = progress(fresh);
    float[] parameters = replica.parameters().clone();
    float[] state = Replica.state(optimizer);
    RingBroadcast broadcast = new RingBroadcast(context.peers(), group, context.pieceElements());
    broadcast.from(states.furthest(), 1, 0, parameters);
    broadcast.from(states.furthest(), 1, 1, state);
    broadcast.from(states.furthest(), 1, 2, memory);
    replica.setParameters(parameters);
    optimizer.writeState(FloatBuffer.wrap(state));
    resume(states);
  }

  private StateAllGather progress(boolean fresh) {
    Replica replica = context.replica();
    StateAllGather.Entry mine =
        new StateAllGather.Entry(replica.updates(), replica.samples(), fresh);
    return StateAllGather.gather(context.peers(), group, 0, mine);
  }

  private void resume(StateAllGather states) {
    StateAllGather.Entry furthest = states.entries().get(states.furthest());
    context.replica().resume(furthest.updates(), furthest.samples());
  }

  private StateAllGather agree(boolean fresh) {
    Replica replica = context.replica();
    StateAllGather states = progress(fresh);
    if (states.allFresh()) {
      float[] parameters = replica.parameters().clone();
      new RingBroadcast(context.peers(), group, context.pieceElements())
          .from(states.furthest(), 1, 0, parameters);
      replica.setParameters(parameters);
    } else if (states.newcomers() > 0) {
      average(fresh, group.size() - states.newcomers());
    }
    return states;
  }

  private void average(boolean fresh, int others) {
    float[] parameters = context.replica().parameters();
    float[] sum = fresh ? new float[parameters.length] : parameters.clone();
    new RingAllReduce(context.peers(), group, DataType.FLOAT32, context.pieceElements(), sum.length)
        .sum(1, sum);
    for (int i = 0; fresh && i < sum.length; i++) {
      parameters[i] = sum[i] / others;
    }
  }
}
