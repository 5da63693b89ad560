package io.vertigrad.strategy;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.Iterator;
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
 *
 * <p>A gradient of the second rank that comes before the first rank's goes to that array at once:
 * two numbers have the same sum either way around, so that nothing has to be copied for two
 * workers.
 */
final class GatherRound implements Barrier.Round {

  private static final int NOBODY = -1;

  private final boolean mean;
  private final int length;
  private final SortedMap<Integer, GradientPartition> held = new TreeMap<>();
  private final Set<Integer> summedRanks = new TreeSet<>();
  private float[] sum;
  private GradientPartition early;
  private int second = NOBODY;
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
    if (summed == 0 && early == null && held.size() == 1 && held.containsKey(second)) {
      early = held.remove(second);
      early.gradient().copyTo(emptySum(), 0);
    } else {
      held.replaceAll((rank, update) -> update.retain());
    }
  }

  /** Sums what is held as far as every lower expected rank has been summed. */
  @Override
  public void advance(SortedSet<Integer> expected) {
    second = second(expected);
    if (early != null && rank(early) != expected.first() && rank(early) != second) {
      holdEarly();
    }
    for (int rank : expected) {
      GradientPartition update = held.remove(rank);
      if (update != null) {
        add(update);
      } else if (early != null && rank(early) == rank) {
        addEarly();
      } else if (!summedRanks.contains(rank)) {
        return;
      }
    }
  }

  /** Sums all that is held, takes one step with it and starts over. */
  @Override
  public void applyTo(PartitionStore store) {
    if (early != null) {
      holdEarly();
    }
    held.values().forEach(this::add);
    store.apply(sum, mean ? (float) ((double) firstSamples / samples) : 1f, samples);
    reset();
  }

  /** A rank's worker left: what is held of it is dropped, what is summed stays. */
  @Override
  public void leave(int rank) {
    held.remove(rank);
    summedRanks.remove(rank);
    if (early != null && rank(early) == rank) {
      early = null;
    }
  }

  @Override
  public void reset() {
    held.clear();
    summedRanks.clear();
    early = null;
    summed = 0;
    samples = 0;
  }

  private static int second(SortedSet<Integer> expected) {
    Iterator<Integer> ranks = expected.iterator();
    if (ranks.hasNext()) {
      ranks.next();
    }
    return ranks.hasNext() ? ranks.next() : NOBODY;
  }

  private static int rank(GradientPartition update) {
    return update.id().worker();
  }

  private float[] emptySum() {
    sum = sum == null ? new float[length] : sum;
    return sum;
  }

  /** Somebody else comes second now: it waits for its turn in memory of its own. */
  private void holdEarly() {
    held.put(rank(early), early.with(Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(sum))));
    early = null;
  }

  /** Its elements are the sum already. */
  private void addEarly() {
    firstSamples = early.samples();
    count(early);
    early = null;
  }

  private void add(GradientPartition update) {
    TensorView gradient = update.gradient();
    if (summed == 0) {
      firstSamples = update.samples();
    }
    if (summed == 0 && early == null) {
      gradient.copyTo(emptySum(), 0);
    } else if (summed == 0) {
      weigh(sum, weight(early));
      gradient.addTo(sum, 0, 1);
      count(early);
      early = null;
    } else {
      gradient.addTo(sum, 0, weight(update));
    }
    count(update);
  }

  private float weight(GradientPartition update) {
    return mean ? (float) update.samples() / firstSamples : 1f;
  }

  private static void weigh(float[] elements, float weight) {
    if (weight != 1) {
      for (int i = 0; i < elements.length; i++) {
        elements[i] *= weight;
      }
    }
  }

  private void count(GradientPartition update) {
    summed++;
    samples += update.samples();
    summedRanks.add(rank(update));
  }
}
