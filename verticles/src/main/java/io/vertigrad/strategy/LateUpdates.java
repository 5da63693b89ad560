package io.vertigrad.strategy;

import io.vertigrad.codecs.GradientPartition;
import java.util.Arrays;

/**
 * The weighted sum of the updates that came after their round had closed and wait for the step of
 * the open one. It is in the partition's {@linkplain PartitionStore#memory memory}: a worker has
 * its answer already and does not send such an update again.
 */
final class LateUpdates {

  /** The number of samples is kept as two numbers that float32 holds exactly. */
  private static final long UNIT = 1 << 20;

  private final PartitionStore store;
  private final int length;
  private final float[] memory;

  LateUpdates(PartitionStore store) {
    this.store = store;
    this.length = store.length();
    this.memory = store.memory(length + 2);
  }

  /** Adds an update with a weight. Its gradient is needed no longer. */
  void add(GradientPartition update, float weight) {
    store.keepMemory();
    update.gradient().addTo(memory, 0, weight);
    setSamples(samples() + update.samples());
  }

  /** Returns the number of samples behind the sum; 0 if there are no updates. */
  long samples() {
    return (long) memory[length] * UNIT + (long) memory[length + 1];
  }

  private void setSamples(long samples) {
    memory[length] = samples / UNIT;
    memory[length + 1] = samples % UNIT;
  }

  /** Adds the sum times a factor. */
  void addTo(float[] destination, float factor) {
    for (int i = 0; i < length; i++) {
      destination[i] += factor * memory[i];
    }
  }

  /** Forgets all updates. Call it after the step that has them. */
  void clear() {
    Arrays.fill(memory, 0);
  }
}
