package io.vertigrad.compute.optimizer;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
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

  /** Null if {@link #deviceRule} takes the steps. */
  private final UpdateRule rule;

  /** Null if {@link #rule} takes the steps. */
  private final DeviceUpdateRule deviceRule;

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
    this(config, rule, null, trainable);
  }

  private Optimizer(
      OptimizerConfig config, UpdateRule rule, DeviceUpdateRule deviceRule, int trainable) {
    this.config = config;
    this.rule = rule;
    this.deviceRule = deviceRule;
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
   * Creates an optimizer of a whole model, with zero state: on the model's device if the model has
   * the rule there, otherwise in Java.
   *
   * @param model whose parameters are updated
   * @param engine computes the rule in Java
   * @param config the optimizer
   * @return an optimizer for the model's vector
   */
  public static Optimizer of(Model model, Engine engine, OptimizerConfig config) {
    int trainable = model.layout().trainable();
    return model
        .deviceRule(config)
        .map(rule -> new Optimizer(config, null, rule, trainable))
        .orElseGet(() -> of(engine, config, trainable));
  }

  /**
   * Returns whether parameters and state are on a model's device, where the {@code stepOnDevice}
   * methods update them; {@link #step} is not possible then.
   *
   * @return false for an optimizer in Java
   */
  public boolean isOnDevice() {
    return deviceRule != null;
  }

  /**
   * Applies one update on the device with the model's last gradient, after clipping. A gradient
   * with NaN or an element beyond the bound changes nothing.
   *
   * @param updates number of updates applied before, from 0
   * @param epochs samples applied so far divided by the size of the training set
   * @param maxMagnitude largest element of a gradient that is applied, finite
   * @return true when the update was applied
   */
  public boolean stepOnDevice(long updates, double epochs, float maxMagnitude) {
    return deviceRule.step(rate(updates, epochs), updates, maxMagnitude);
  }

  /**
   * Applies one update on the device with a gradient from Java, as it is.
   *
   * @param gradient of the whole vector, at least as long
   * @param updates number of updates applied before, from 0
   * @param epochs samples applied so far divided by the size of the training set
   */
  public void stepOnDevice(float[] gradient, long updates, double epochs) {
    deviceRule.step(gradient, rate(updates, epochs), updates);
  }

  private double rate(long updates, double epochs) {
    return config.learningRate() * config.schedule().factor(updates, epochs);
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
    if (isOnDevice()) {
      throw new IllegalStateException(
          "optimizer %s is on its model's device, expected one in Java; call Replica.step"
              .formatted(config.name()));
    }
    if (parameters.length > gradient.length || parameters.length < trainable) {
      throw new IllegalArgumentException(
          "%s parameters and %s gradients, expected at least %s, and no more parameters"
              .formatted(parameters.length, gradient.length, trainable));
    }
    double rate = rate(updates, epochs);
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
    return isOnDevice() ? deviceRule.stateLength() : rule.stateLength();
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
    FloatBuffer state = destination.slice(first, stateLength());
    if (isOnDevice()) {
      deviceRule.readState(state);
    } else {
      rule.readState(state);
    }
    destination.position(first + stateLength());
  }

  /**
   * Copies the rule's state in, from a checkpoint.
   *
   * @param source has {@link #stateLength()} values
   */
  public void writeState(FloatBuffer source) {
    if (isOnDevice()) {
      deviceRule.writeState(source);
    } else {
      rule.writeState(source);
    }
  }
}
