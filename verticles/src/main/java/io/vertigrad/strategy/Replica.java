package io.vertigrad.strategy;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Objects;

/**
 * One worker's parameters in exchange order, and their progress. Belongs to the strategy's thread
 * while a step is in progress, otherwise to the worker's thread.
 *
 * <p>Trainable elements are the head of the vector, running statistics its tail.
 *
 * <p>Tests of a strategy create one of an array. That of a worker may keep the newest parameters on
 * the model's device: they are copied to Java when {@link #parameters()} is called. Nothing here is
 * called while the model computes, except {@link #parameters()} and {@link #setParameters} by
 * {@link PeerStrategy#begin()}.
 */
public class Replica {

  private final List<Block> blocks;
  private final int trainable;
  private final long trainingSamples;
  private final float maxMagnitude;
  private float[] parameters;
  private long updates;
  private double samples;

  /**
   * Creates a replica.
   *
   * @param parameters its vector; the replica takes ownership
   * @param trainable number of elements that an optimizer updates
   * @param trainingSamples size of the training set, for counting epochs
   */
  public Replica(float[] parameters, int trainable, long trainingSamples) {
    this(parameters, trainable, trainingSamples, Float.MAX_VALUE);
  }

  /**
   * Creates a replica that skips gradients beyond a bound.
   *
   * @param parameters its vector; the replica takes ownership
   * @param trainable number of elements that an optimizer updates
   * @param trainingSamples size of the training set, for counting epochs
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public Replica(float[] parameters, int trainable, long trainingSamples, float maxMagnitude) {
    this(parameters, List.of(), trainable, trainingSamples, maxMagnitude);
  }

  /**
   * Creates the replica of a model whose arrays are known.
   *
   * @param parameters its vector; the replica takes ownership
   * @param layout the arrays of the vector
   * @param trainingSamples size of the training set, for counting epochs
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public Replica(
      float[] parameters, ParameterLayout layout, long trainingSamples, float maxMagnitude) {
    this(parameters, layout.blocks(), layout.trainable(), trainingSamples, maxMagnitude);
  }

  private Replica(
      float[] parameters,
      List<Block> blocks,
      int trainable,
      long trainingSamples,
      float maxMagnitude) {
    Objects.checkIndex(trainable, parameters.length + 1);
    this.parameters = parameters;
    this.blocks = blocks;
    this.trainable = trainable;
    this.trainingSamples = trainingSamples;
    this.maxMagnitude = maxMagnitude;
  }

  /**
   * Returns the arrays of the vector in their order.
   *
   * @return the model's arrays; empty when they are not known
   */
  public List<Block> blocks() {
    return blocks;
  }

  /**
   * Creates an optimizer of the vector, with zero state: on the model's device if it has the rule.
   *
   * @param engine computes the rule in Java
   * @param config the optimizer
   * @return an optimizer for {@link #step}
   */
  public Optimizer optimizer(Engine engine, OptimizerConfig config) {
    return Optimizer.of(engine, config, trainable);
  }

  /**
   * Returns the vector itself, which the caller may change until the next step. Parameters on a
   * device are copied to it before.
   *
   * @return elements in exchange order
   */
  public float[] parameters() {
    return parameters;
  }

  /**
   * Returns the length of the whole vector.
   *
   * @return trainable elements and statistics
   */
  public int length() {
    return parameters.length;
  }

  /**
   * Returns the number of elements that the optimizer updates.
   *
   * @return the length of the head of the vector
   */
  public int trainable() {
    return trainable;
  }

  /**
   * Returns the number of steps taken.
   *
   * @return from 0
   */
  public long updates() {
    return updates;
  }

  /**
   * Returns the number of samples applied by all workers divided by the size of the training set.
   *
   * @return passes, with a fraction
   */
  public double epochs() {
    return samples / trainingSamples;
  }

  /**
   * Returns the number of samples applied by all workers.
   *
   * @return from 0
   */
  public double samples() {
    return samples;
  }

  /**
   * Takes one optimizer step with this worker's last gradient: on the device, unless the optimizer
   * or the gradient's newest values are in Java. See {@link #step(Optimizer, float[], double)}.
   *
   * @param optimizer takes the step
   * @param gradient of the worker's last batch; overwritten
   * @param count number of samples behind it
   * @return true when the step was taken
   */
  public boolean step(Optimizer optimizer, LocalGradient gradient, double count) {
    return step(optimizer, gradient.values(), count);
  }

  /**
   * Takes one optimizer step. If the gradient holds NaN, infinity or an element beyond the bound,
   * the step is skipped: the parameters do not change, and the update counts with no samples.
   *
   * @param optimizer takes the step
   * @param gradient as many elements as the vector, possibly followed by others; overwritten
   * @param count number of samples behind it
   * @return true when the step was taken
   */
  public boolean step(Optimizer optimizer, float[] gradient, double count) {
    boolean finite = Magnitudes.largest(gradient, 0, parameters.length) <= maxMagnitude;
    if (finite) {
      apply(optimizer, gradient);
    }
    return count(finite, count);
  }

  /**
   * Changes the parameters by a step whose gradient may be applied.
   *
   * @param optimizer takes the step
   * @param gradient as many elements as the vector, possibly followed by others; overwritten
   */
  protected void apply(Optimizer optimizer, float[] gradient) {
    optimizer.step(parameters(), gradient, updates, epochs());
  }

  /**
   * Returns the bound of gradients.
   *
   * @return largest magnitude of an element that is applied
   */
  protected float maxMagnitude() {
    return maxMagnitude;
  }

  /**
   * Counts a step.
   *
   * @param finite false if it was skipped
   * @param count number of samples behind it
   * @return {@code finite}
   */
  protected boolean count(boolean finite, double count) {
    updates++;
    samples += finite ? count : 0;
    return finite;
  }

  /**
   * Reports a scalar of this worker at the number of steps taken; see {@code Scalars}. Does nothing
   * outside a job.
   *
   * @param name a letter and up to 63 more letters, digits, {@code _}, {@code .} or {@code -}
   * @param value the value; one that is not finite is drawn as a gap
   */
  public void report(String name, double value) {}

  /**
   * Replaces the parameters without counting an update.
   *
   * @param vector from another worker or a checkpoint; the replica takes ownership
   */
  public void setParameters(float[] vector) {
    parameters = vector;
  }

  /**
   * Sets the progress to that of another worker or a checkpoint.
   *
   * @param someUpdates number of steps taken
   * @param someSamples number of samples applied
   */
  public void resume(long someUpdates, double someSamples) {
    updates = someUpdates;
    samples = someSamples;
  }

  /**
   * Returns a copy of the optimizer's state.
   *
   * @param optimizer whose state is read
   * @return a copy
   */
  public static float[] state(Optimizer optimizer) {
    float[] state = new float[optimizer.stateLength()];
    optimizer.readState(FloatBuffer.wrap(state));
    return state;
  }
}
