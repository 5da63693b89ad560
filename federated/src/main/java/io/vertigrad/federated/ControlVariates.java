package io.vertigrad.federated;

import io.vertigrad.codecs.LongInFloats;
import io.vertigrad.strategy.LocalRule;

/**
 * SCAFFOLD: corrects each local step by the difference between the mean gradient of all workers and
 * that of this one. Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated
 * learning", 2020, option II.
 *
 * <pre>
 *   g   &lt;- g + c - c_i                              before each of K steps y &lt;- y - eta g
 *   c_i &lt;- c_i - c + (x - y) / (K eta)              after them
 *   c   &lt;- c + (S / N) mean_S(c_i's change)         S of N workers take part
 * </pre>
 *
 * <p>Nobody sends {@code c}. Since {@code mean_S(c_i's change) = mean_S(x - y) / (K eta) - c}, and
 * the servers step with {@code x' = x - rate mean_S(x - y)}, every worker computes {@code c <- (1 -
 * S/N) c + (S/N) (x - x') / (K eta rate)} from two versions in a row. It holds only if {@code K}
 * and {@code eta} are the same for all workers, the servers use the plain mean, and each worker
 * sees every version.
 *
 * <p>If all take part, {@code mean(x - y) = K eta mean(c_i)} after the steps, so that a worker
 * sends {@code K eta c_i}: equal in exact arithmetic, and then {@code c = mean(c_i)} in the next
 * version whatever was before. So {@code c} is right again one version after a worker began without
 * its {@code c_i}, or after servers went back to a checkpoint. With a part of the workers such an
 * error stays: it fades only as the rounds replace the {@code c_i}.
 */
final class ControlVariates implements LocalRule {

  private static final int VERSION = 0;
  private static final int STEPS = VERSION + LongInFloats.LENGTH;
  private static final int NUMBERS = STEPS + LongInFloats.LENGTH;

  private final double rate;
  private final double serverRate;
  private final double part;
  private final int trainable;
  private final int own;
  private final int before;
  private final int numbers;

  /** The variates {@code c} and {@code c_i}, the last parameters, and their version and steps. */
  private final float[] memory;

  /**
   * Creates variates that are 0.
   *
   * @param rate constant rate of the local steps
   * @param serverRate rate of the servers
   * @param part share of the workers that takes part in a round
   * @param trainable number of trainable elements, which come first
   */
  ControlVariates(double rate, double serverRate, double part, int trainable) {
    this.rate = rate;
    this.serverRate = serverRate;
    this.part = part;
    this.trainable = trainable;
    this.own = trainable;
    this.before = 2 * trainable;
    this.numbers = 3 * trainable;
    this.memory = new float[3 * trainable + NUMBERS];
  }

  @Override
  public long begin(Round round, float[] parameters) {
    // One more than the version, because 0 is for none.
    long last = number(VERSION) - 1;
    if (last >= 0 && last == round.version() - 1) {
      double scale = 1 / (number(STEPS) * rate * serverRate);
      for (int i = 0; i < trainable; i++) {
        double mean = ((double) memory[before + i] - parameters[i]) * scale;
        memory[i] = (float) ((1 - part) * memory[i] + part * mean);
      }
    }
    System.arraycopy(parameters, 0, memory, before, trainable);
    put(VERSION, round.version() + 1);
    put(STEPS, round.steps());
    return round.steps();
  }

  @Override
  public boolean adjusts() {
    return true;
  }

  @Override
  public void adjust(float[] parameters, float[] gradient) {
    for (int i = 0; i < trainable; i++) {
      gradient[i] += memory[i] - memory[own + i];
    }
  }

  @Override
  public void finish(float[] moved) {
    double scale = number(STEPS) * rate;
    for (int i = 0; i < trainable; i++) {
      double variate = (double) memory[own + i] - memory[i] + moved[i] / scale;
      memory[own + i] = (float) variate;
      if (part >= 1) {
        moved[i] = (float) (scale * variate);
      }
    }
  }

  @Override
  public float[] memory() {
    return memory;
  }

  private long number(int at) {
    return LongInFloats.get(memory, numbers + at);
  }

  private void put(int at, long number) {
    LongInFloats.put(memory, numbers + at, number);
  }
}
