package io.vertigrad.internal.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Replica;

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

  public InitialSync(PeerContext context, PeerGroup group) {
    this.context = context;
    this.group = group;
  }

  /**
   * Blocks until all workers of the group agree on the next step.
   *
   * @return the progress of all workers before
   */
  public StateAllGather synchronize(boolean fresh) {
    StateAllGather states = agree(fresh);
    resume(states);
    return states;
  }

  /** Synchronises workers that do not move in rounds; each keeps its own count of steps. */
  public void synchronizeKeepingCounts(boolean fresh) {
    StateAllGather states = agree(fresh);
    if (fresh) {
      resume(states);
    }
  }

  private void resume(StateAllGather states) {
    StateAllGather.Entry furthest = states.entries().get(states.furthest());
    context.replica().resume(furthest.updates(), furthest.samples());
  }

  private StateAllGather agree(boolean fresh) {
    Replica replica = context.replica();
    StateAllGather.Entry mine =
        new StateAllGather.Entry(replica.updates(), replica.samples(), fresh);
    StateAllGather states = StateAllGather.gather(context.peers(), group, 0, mine);
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
