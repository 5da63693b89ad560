package io.vertigrad.strategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.TensorView;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * One partition's open round: a running sum in rank order, and what arrived before its turn.
 *
 * <p>For a mean each gradient weighs {@code samples / samples of the first}, so that equal batches
 * are summed without rounding a product, and the whole is scaled by {@code samples of the first /
 * samples of all}. The array of the sum is kept from round to round.
 */
final class GatherRound implements Barrier.Round {

  private final boolean mean;
  private final int length;
  private final SortedMap<Integer, GradientPartition> held = new TreeMap<>();
  private final Set<Integer> summedRanks = new TreeSet<>();
  private float[] sum;
  private int summed;
  private long samples;
  private long firstSamples;

  GatherRound(boolean mean, int length) {
    this.mean = mean;
    this.length = length;
  }

  /** Takes a gradient, to be summed when its turn comes. */
  @Override
  public void hold(GradientPartition update) {
    held.put(update.id().worker(), update);
  }

  @Override
  public void keep() {
    held.replaceAll((rank, update) -> update.retain());
  }

  /** Sums what is held as far as every lower expected rank has been summed. */
  @Override
  public void advance(SortedSet<Integer> expected) {
    for (int rank : expected) {
      GradientPartition update = held.remove(rank);
      if (update != null) {
        add(update);
      } else if (!summedRanks.contains(rank)) {
        return;
      }
    }
  }

  /** Sums all that is held, takes one step with it and starts over. */
  @Override
  public void applyTo(PartitionStore store) {
    held.values().forEach(this::add);
    store.apply(sum, mean ? (float) ((double) firstSamples / samples) : 1f, samples);
    reset();
  }

  /** A rank's worker left: what is held of it is dropped, what is summed stays. */
  @Override
  public void leave(int rank) {
    held.remove(rank);
    summedRanks.remove(rank);
  }

  @Override
  public void reset() {
    held.clear();
    summedRanks.clear();
    summed = 0;
    samples = 0;
  }

  private void add(GradientPartition update) {
    TensorView gradient = update.gradient();
    if (summed == 0) {
      sum = sum == null ? new float[length] : sum;
      gradient.copyTo(sum, 0);
      firstSamples = update.samples();
    } else {
      gradient.addTo(sum, 0, mean ? (float) update.samples() / firstSamples : 1f);
    }
    summed++;
    samples += update.samples();
    summedRanks.add(update.id().worker());
  }
}
