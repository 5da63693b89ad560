package io.vertigrad.testkit;

import io.vertigrad.codecs.ExchangeId;

/**
 * Gives every update of a partition an element of its own, whose gradient is 1. With plain SGD at
 * rate 1 that element counts how often the update was applied.
 */
final class UpdateSlots {

  /** Number of elements before the first slot; their gradients depend on the parameters. */
  static final int DENSE = 4;

  private static final int STEPS = 32;
  private final int workers;

  /**
   * Creates slots for the steps of a number of ranks; a replacement uses its predecessor's slots.
   */
  UpdateSlots(int workers) {
    this.workers = workers;
  }

  /** Returns the number of elements of a partition. */
  int length() {
    return DENSE + workers * STEPS;
  }

  /** Returns the element of this update. */
  int of(ExchangeId id) {
    if (id.step() >= STEPS) {
      throw new AssertionError("no slot for " + id);
    }
    return DENSE + id.worker() * STEPS + (int) id.step();
  }

  /** Returns a worker's update, given the parameters it has. */
  float[] gradient(ExchangeId id, long version, float[] parameters) {
    float[] gradient = new float[length()];
    for (int i = 0; i < DENSE; i++) {
      long mixed = (id.worker() * 31L + version) * 31 + i * 7919L + id.partition();
      gradient[i] = (float) Math.sin(mixed) + 0.01f * parameters[i];
    }
    gradient[of(id)] = 1;
    return gradient;
  }
}
