package io.vertigrad.strategy;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Objects;

/**
 * One worker's parameters in exchange order, and their progress. Belongs to the strategy's thread
 * while a step is in progress, otherwise to the worker's thread.
 *
 * <p>Trainable elements are the head of the vector, running statistics its tail.
 */
public final class Replica {

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
   * Returns the vector itself. Each step replaces it by another array.
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
   * Takes one optimizer step on a vector that becomes the parameters. If the gradient holds NaN,
   * infinity or an element beyond the bound, the step is skipped: the vector becomes the parameters
   * unchanged, and the update counts with no samples.
   *
   * @param optimizer takes the step
   * @param from the vector, updated in place
   * @param gradient as many elements as the vector, possibly followed by others; overwritten
   * @param count number of samples behind it
   * @return true when the step was taken
   */
  public boolean step(Optimizer optimizer, float[] from, float[] gradient, double count) {
    boolean finite = Magnitudes.largest(gradient, 0, from.length) <= maxMagnitude;
    if (finite) {
      optimizer.step(from, gradient, updates, epochs());
    }
    advance(from, finite ? count : 0);
    return finite;
  }

  /**
   * Replaces the parameters and counts one more update.
   *
   * @param next the new vector; the replica takes ownership
   * @param count number of samples behind the update
   */
  public void advance(float[] next, double count) {
    parameters = next;
    updates++;
    samples += count;
  }

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
