package io.vertigrad.strategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.LongInFloats;
import java.util.Arrays;

/**
 * The weighted sum of the updates that came after their round had closed and wait for the step of
 * the open one. It is in the partition's {@linkplain PartitionStore#memory memory}: a worker has
 * its answer already and does not send such an update again.
 */
final class LateUpdates {

  private final PartitionStore store;
  private final int length;
  private final float[] memory;

  LateUpdates(PartitionStore store) {
    this.store = store;
    this.length = store.length();
    this.memory = store.memory(length + LongInFloats.LENGTH);
  }

  /** Adds an update with a weight. Its gradient is needed no longer. */
  void add(GradientPartition update, float weight) {
    store.keepMemory();
    update.gradient().addTo(memory, 0, weight);
    LongInFloats.put(memory, length, samples() + update.samples());
  }

  /** Returns the number of samples behind the sum; 0 if there are no updates. */
  long samples() {
    return LongInFloats.get(memory, length);
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
