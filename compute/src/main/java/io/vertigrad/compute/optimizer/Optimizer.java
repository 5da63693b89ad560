package io.vertigrad.compute.optimizer;

import io.vertigrad.compute.Engine;
import java.nio.FloatBuffer;

/**
 * Applies reduced gradients to one partition of the exchange vector.
 *
 * <p>One update at the rate {@code r = learningRate * schedule} is, for every trainable element,
 *
 * <pre>
 *   g += l2 * p                    coupled decay
 *   p -= rule(g, r) + r * weightDecay * p    decoupled decay: Loshchilov and Hutter (2019)
 * </pre>
 *
 * <p>A statistic follows its gradient plainly: {@code p -= g}. Not thread-safe: one owner.
 */
public final class Optimizer {

  private final OptimizerConfig config;
  private final UpdateRule rule;
  private final int trainable;

  /**
   * Creates an optimizer with a given rule.
   *
   * @param config learning rate, schedule, decay and clipping
   * @param rule created for {@code trainable} elements
   * @param trainable number of elements at the head of the partition that are trainable; the rest
   *     are statistics
   */
  public Optimizer(OptimizerConfig config, UpdateRule rule, int trainable) {
    this.config = config;
    this.rule = rule;
    this.trainable = trainable;
  }

  /**
   * Creates an optimizer whose rule the engine computes, with zero state.
   *
   * @param engine computes the rule
   * @param config the optimizer
   * @param trainable number of elements at the head of the partition that are trainable; the rest
   *     are statistics
   * @return an optimizer for one partition
   */
  public static Optimizer of(Engine engine, OptimizerConfig config, int trainable) {
    return new Optimizer(config, engine.updateRule(config, trainable), trainable);
  }

  /**
   * Applies one update in place.
   *
   * @param parameters the partition
   * @param gradient its reduced gradient, at least as long; overwritten
   * @param updates number of updates applied to this partition before, from 0
   * @param epochs samples applied so far divided by the size of the training set
   */
  public void step(float[] parameters, float[] gradient, long updates, double epochs) {
    if (parameters.length > gradient.length || parameters.length < trainable) {
      throw new IllegalArgumentException(
          "%d parameters and %d gradients, expected at least %d, and no more parameters"
              .formatted(parameters.length, gradient.length, trainable));
    }
    double rate = config.learningRate() * config.schedule().factor(updates, epochs);
    addDecay(parameters, gradient, (float) config.l2());
    float kept = (float) (1 - rate * config.weightDecay());
    rule.step(parameters, gradient, rate, updates, kept, trainable);
    for (int i = trainable; i < parameters.length; i++) {
      parameters[i] -= gradient[i];
    }
  }

  private void addDecay(float[] parameters, float[] gradient, float l2) {
    if (l2 != 0) {
      for (int i = 0; i < trainable; i++) {
        gradient[i] += l2 * parameters[i];
      }
    }
  }

  /**
   * Returns the number of elements of the rule's state; 0 for plain SGD.
   *
   * @return a number of elements
   */
  public int stateLength() {
    return rule.stateLength();
  }

  /**
   * Copies the rule's state out, for a checkpoint.
   *
   * @param destination has room for {@link #stateLength()} values; its position is advanced behind
   *     them
   */
  public void readState(FloatBuffer destination) {
    int first = destination.position();
    // The rule gets a slice of exactly its own values and need not advance the position.
    rule.readState(destination.slice(first, stateLength()));
    destination.position(first + stateLength());
  }

  /**
   * Copies the rule's state in, from a checkpoint.
   *
   * @param source has {@link #stateLength()} values
   */
  public void writeState(FloatBuffer source) {
    rule.writeState(source);
  }
}
