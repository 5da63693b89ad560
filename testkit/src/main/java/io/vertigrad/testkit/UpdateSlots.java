package io.vertigrad.testkit;

import io.vertigrad.codecs.ExchangeId;

/**
 * Gives every update of a partition an element of its own, whose gradient is 1: with plain SGD at
 * rate 1 that element then counts how often the update was applied.
 */
final class UpdateSlots {

  /** Elements before the first slot, with gradients that depend on the parameters. */
  static final int DENSE = 4;

  private static final int STEPS = 32;
  private final int workers;
  private final int incarnations;

  /** Slots for workers that are admitted at most this often each. */
  UpdateSlots(int workers, int incarnations) {
    this.workers = workers;
    this.incarnations = incarnations;
  }

  /** Elements of a partition. */
  int length() {
    return DENSE + workers * incarnations * STEPS;
  }

  /** The element of this update. */
  int of(ExchangeId id) {
    if (id.step() >= STEPS || id.incarnation() >= incarnations) {
      throw new AssertionError("no slot for " + id);
    }
    int lives = id.worker() * incarnations + id.incarnation();
    return DENSE + lives * STEPS + (int) id.step();
  }

  /** What this worker's update is, given the parameters it has. */
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
