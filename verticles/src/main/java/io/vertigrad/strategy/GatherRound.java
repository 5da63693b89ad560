package io.vertigrad.strategy;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The open round of one partition: a running sum in rank order, and the gradients that arrived
 * early.
 *
 * <p>For a mean each gradient is weighted by {@code samples / samples of the first}, so that equal
 * batches are summed without rounding a product. At the end the sum is scaled by {@code samples of
 * the first / samples of all}. The array of the sum is kept from round to round.
 *
 * <p>A gradient of the second rank that arrives before the first rank's is copied to that array
 * immediately. Two numbers have the same sum in either order, so two workers need no other copy.
 * Copies of other early gradients use memory that all partitions of the process share.
 */
final class GatherRound implements Barrier.Round {

  private static final int NO_RANK = -1;

  /** Memory for copies: allocating it anew for every gradient would cost more than the copies. */
  private static final TensorMemory MEMORY = TensorMemory.outsideHeapUpTo(32 << 20);

  private final boolean mean;
  private final int length;
  private final Optional<LateUpdates> late;
  private final SortedMap<Integer, GradientPartition> held = new TreeMap<>();
  private final Set<Integer> copiedRanks = new TreeSet<>();
  private final Set<Integer> summedRanks = new TreeSet<>();
  private float[] sum;
  private SortedSet<Integer> expected;
  private int next;
  private GradientPartition early;
  private int second = NO_RANK;
  private int summed;
  private long samples;
  private long firstSamples;

  /**
   * Creates a round without gradients.
   *
   * @param mean true for the mean over the samples, false for the sum
   * @param late takes the updates of earlier rounds; empty if there is no place for them
   */
  GatherRound(boolean mean, int length, Optional<LateUpdates> late) {
    this.mean = mean;
    this.length = length;
    this.late = late;
  }

  /** Adds a gradient; it is summed when all lower ranks have been. */
  @Override
  public void hold(GradientPartition update) {
    release(held.remove(rank(update)));
    held.put(rank(update), update);
  }

  /** The sum of late updates is kept apart, because checkpoints have it and not that of a round. */
  @Override
  public boolean addLate(GradientPartition update) {
    late.ifPresent(earlier -> earlier.add(update, mean ? update.samples() : 1f));
    return late.isPresent();
  }

  @Override
  public void retain() {
    if (summed == 0 && early == null && held.size() == 1 && held.containsKey(second)) {
      early = held.remove(second);
      early.gradient().copyTo(emptySum(), 0);
      release(early);
    } else {
      held.replaceAll(this::copied);
    }
  }

  /** Returns a held gradient in memory that is not overwritten while it is held. */
  private GradientPartition copied(int rank, GradientPartition update) {
    boolean overwritten =
        update.gradient() instanceof BorrowedTensor lent && !lent.lastsUntilGivenBack();
    if (!overwritten) {
      return update.retain();
    }
    if (!copiedRanks.add(rank)) {
      return update;
    }
    TensorView copy = MEMORY.copyOf(update.gradient());
    // A server may end in the middle of a round.
    TensorMemory.leave(copy);
    return update.with(copy);
  }

  /** Reuses the memory of a gradient that is not held any more. */
  private void release(GradientPartition update) {
    if (update != null && copiedRanks.remove(rank(update))) {
      MEMORY.giveBack(update.gradient());
    }
  }

  /** Sums the gradients held, in rank order, up to the first expected rank that is missing. */
  @Override
  public void advance(SortedSet<Integer> ranks) {
    if (ranks != expected) {
      expected = ranks;
      next = NO_RANK;
      second = second(ranks);
      if (early != null && rank(early) != ranks.first() && rank(early) != second) {
        holdEarly();
      }
    }
    for (int rank : ranks.tailSet(next)) {
      next = rank;
      GradientPartition update = held.remove(rank);
      if (update != null) {
        add(update);
        release(update);
      } else if (early != null && rank(early) == rank) {
        addEarly();
      } else if (!summedRanks.contains(rank)) {
        return;
      }
    }
  }

  /** Sums all gradients held, takes one step with the sum and starts a new round. */
  @Override
  public void applyTo(PartitionStore store) {
    if (early != null) {
      holdEarly();
    }
    held.values().forEach(this::add);
    releaseHeld();
    long merged = late.map(LateUpdates::samples).orElse(0L);
    if (merged > 0) {
      late.get().addTo(sum, mean ? 1f / firstSamples : 1f);
    }
    long all = samples + merged;
    store.apply(sum, mean ? (float) ((double) firstSamples / all) : 1f, all);
    if (merged > 0) {
      late.get().clear();
    }
    reset();
  }

  /** Removes a rank whose worker left: its gradient is dropped unless it is summed already. */
  @Override
  public void leave(int rank) {
    expected = null;
    release(held.remove(rank));
    summedRanks.remove(rank);
    if (early != null && rank(early) == rank) {
      early = null;
    }
  }

  @Override
  public void reset() {
    releaseHeld();
    summedRanks.clear();
    expected = null;
    early = null;
    summed = 0;
    samples = 0;
  }

  private void releaseHeld() {
    held.values().forEach(this::release);
    held.clear();
  }

  private static int second(SortedSet<Integer> expected) {
    Iterator<Integer> ranks = expected.iterator();
    if (ranks.hasNext()) {
      ranks.next();
    }
    return ranks.hasNext() ? ranks.next() : NO_RANK;
  }

  private static int rank(GradientPartition update) {
    return update.id().worker();
  }

  private float[] emptySum() {
    sum = sum == null ? new float[length] : sum;
    return sum;
  }

  /** Moves the early gradient to memory of its own, because another rank is second now. */
  private void holdEarly() {
    held.put(rank(early), early.with(Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(sum))));
    early = null;
  }

  /** Counts the early gradient, whose elements are the sum already. */
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
