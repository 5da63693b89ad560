package io.vertigrad.internal.strategy;

import io.vertigrad.internal.collective.AllReduce;
import io.vertigrad.internal.collective.RingBroadcast;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;

/**
 * The mean gradient of the workers of one group, {@code sum_i n_i g_i / sum_i n_i}, with the same
 * bits in all of them.
 */
final class GroupGradient {

  private final PeerContext context;
  private final PeerGroup group;
  private final AllReduce reduction;

  GroupGradient(PeerContext context, PeerGroup group) {
    this.context = context;
    this.group = group;
    this.reduction =
        AllReduce.of(context, group, context.replica().length(), AllReduce.DIRECT_BYTES);
  }

  /** Copies the leader's vector to the whole group. */
  void share(long round, int phase, float[] vector) {
    new RingBroadcast(context.peers(), group, context.pieceElements())
        .from(0, round, phase, vector);
  }

  /** Returns the mean gradient; an element behind it has the number of batches. */
  float[] mean(long round, LocalGradient gradient) {
    int length = context.replica().length();
    float weight = (float) gradient.samples() / context.batch();
    float[] sum = new float[length + 1];
    for (int i = 0; i < length; i++) {
      sum[i] = weight * gradient.values()[i];
    }
    sum[length] = weight;
    reduction.sum(round, sum);
    for (int i = 0; i < length; i++) {
      sum[i] /= sum[length];
    }
    return sum;
  }
}
