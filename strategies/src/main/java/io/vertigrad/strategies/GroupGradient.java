package io.vertigrad.strategies;

import io.vertigrad.collective.AllReduce;
import io.vertigrad.collective.RingBroadcast;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;

/**
 * The mean {@code sum_i n_i g_i / sum_i n_i} or sum {@code sum_i g_i} of the gradients of one
 * group's workers, with the same bits in all of them. Differences of statistics are always
 * averaged.
 */
final class GroupGradient {

  private final PeerContext context;
  private final PeerGroup group;
  private final boolean sums;
  private final AllReduce reduction;

  /**
   * Creates the reduction of one worker.
   *
   * @param sums whether gradients are added instead of averaged
   */
  GroupGradient(PeerContext context, PeerGroup group, boolean sums) {
    this.context = context;
    this.group = group;
    this.sums = sums;
    this.reduction = AllReduce.of(context, group, context.replica().length());
  }

  /** Copies the leader's vector to the whole group. */
  void share(long round, int phase, float[] vector) {
    new RingBroadcast(context.peers(), group, context.pieceElements())
        .from(0, round, phase, vector);
  }

  /** Returns the mean or sum; an element behind it has the number of batches. */
  float[] combined(long round, LocalGradient gradient) {
    int length = context.replica().length();
    int averagedFrom = sums ? context.replica().trainable() : 0;
    float weight = (float) gradient.samples() / context.batch();
    float[] sum = new float[length + 1];
    System.arraycopy(gradient.values(), 0, sum, 0, averagedFrom);
    for (int i = averagedFrom; i < length; i++) {
      sum[i] = weight * gradient.values()[i];
    }
    sum[length] = weight;
    reduction.sum(round, sum);
    AllReduce.divide(sum, averagedFrom, length, sum[length]);
    return sum;
  }
}
