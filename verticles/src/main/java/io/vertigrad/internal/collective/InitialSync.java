package io.vertigrad.internal.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Replica;

/**
 * How a group whose replicas differ begins: a first group with the first rank's parameters, later
 * newcomers with the average of the others, who keep their own.
 */
public final class InitialSync {

  /** Rounds this takes; exchanges of a new group are numbered from here. */
  public static final long ROUNDS = 2;

  private final PeerContext context;
  private final PeerGroup group;

  public InitialSync(PeerContext context, PeerGroup group) {
    this.context = context;
    this.group = group;
  }

  /** Blocks until this worker may take a step, the same step as everyone else. */
  public void settle(boolean fresh) {
    StateAllGather.Entry furthest = agree(fresh);
    context.replica().resume(furthest.updates(), furthest.samples());
  }

  /** Likewise for workers that do not move in rounds: each keeps its own count. */
  public void settleAlone(boolean fresh) {
    StateAllGather.Entry furthest = agree(fresh);
    if (fresh) {
      context.replica().resume(furthest.updates(), furthest.samples());
    }
  }

  private StateAllGather.Entry agree(boolean fresh) {
    Replica replica = context.replica();
    StateAllGather.Entry mine =
        new StateAllGather.Entry(replica.updates(), replica.samples(), fresh);
    StateAllGather call = StateAllGather.hold(context.peers(), group, 0, mine);
    if (call.allFresh()) {
      float[] parameters = replica.parameters().clone();
      new RingBroadcast(context.peers(), group, context.pieceElements())
          .from(call.furthest(), 1, 0, parameters);
      replica.become(parameters);
    } else if (call.newcomers() > 0) {
      average(fresh, group.size() - call.newcomers());
    }
    return call.entries().get(call.furthest());
  }

  private void average(boolean fresh, int others) {
    float[] parameters = context.replica().parameters();
    float[] sum = fresh ? new float[parameters.length] : parameters.clone();
    new RingAllReduce(context.peers(), group, DataType.FLOAT32, context.pieceElements())
        .sum(1, sum);
    for (int i = 0; fresh && i < sum.length; i++) {
      parameters[i] = sum[i] / others;
    }
  }
}
