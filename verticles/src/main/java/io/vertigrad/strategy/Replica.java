package io.vertigrad.strategy;

import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import java.nio.FloatBuffer;
import java.util.Objects;

/**
 * One worker's parameters in exchange order, and how far they have come; belongs to the strategy's
 * thread while it works, and to the worker's while that waits for nothing.
 *
 * <p>Trainable elements are the head of the vector, running statistics its tail.
 */
public final class Replica {

  private final int trainable;
  private final long trainingSamples;
  private final float maxMagnitude;
  private float[] parameters;
  private long updates;
  private double samples;

  /**
   * Creates a replica.
   *
   * @param parameters its vector, which it takes over
   * @param trainable how many of them an optimizer steps
   * @param trainingSamples size of the training set, of which an epoch consists
   */
  public Replica(float[] parameters, int trainable, long trainingSamples) {
    this(parameters, trainable, trainingSamples, Float.MAX_VALUE);
  }

  /**
   * Creates a replica that takes no step on a gradient beyond a bound.
   *
   * @param parameters its vector, which it takes over
   * @param trainable how many of them an optimizer steps
   * @param trainingSamples size of the training set, of which an epoch consists
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public Replica(float[] parameters, int trainable, long trainingSamples, float maxMagnitude) {
    Objects.checkIndex(trainable, parameters.length + 1);
    this.parameters = parameters;
    this.trainable = trainable;
    this.trainingSamples = trainingSamples;
    this.maxMagnitude = maxMagnitude;
  }

  /**
   * Returns the vector itself; it is another array after each step.
   *
   * @return elements in exchange order
   */
  public float[] parameters() {
    return parameters;
  }

  /**
   * Returns the elements of the whole vector.
   *
   * @return trainable elements and statistics
   */
  public int length() {
    return parameters.length;
  }

  /**
   * Returns the elements that the optimizer steps.
   *
   * @return the head of the vector
   */
  public int trainable() {
    return trainable;
  }

  /**
   * Returns the steps taken.
   *
   * @return from 0
   */
  public long updates() {
    return updates;
  }

  /**
   * Returns the samples applied by all workers over the size of the training set.
   *
   * @return passes, with a fraction
   */
  public double epochs() {
    return samples / trainingSamples;
  }

  /**
   * Returns the samples applied by all workers.
   *
   * @return from 0
   */
  public double samples() {
    return samples;
  }

  /**
   * Takes one optimizer step on a vector that becomes the parameters. Where the gradient holds NaN,
   * infinity or an element beyond the bound it is left out: the vector becomes the parameters as it
   * is, after one more update of no samples.
   *
   * @param optimizer takes the step
   * @param from the vector, stepped in place
   * @param gradient of its elements, and nothing or anything behind them; it is used up
   * @param count samples behind it
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
   * Takes a vector as the parameters after one more update.
   *
   * @param next the vector, which it takes over
   * @param count samples behind the update
   */
  public void advance(float[] next, double count) {
    parameters = next;
    updates++;
    samples += count;
  }

  /**
   * Takes over a whole vector, as another worker sent it.
   *
   * @param vector the vector
   */
  public void become(float[] vector) {
    parameters = vector;
  }

  /**
   * Goes on from where another worker is.
   *
   * @param someUpdates steps taken
   * @param someSamples samples applied
   */
  public void resume(long someUpdates, double someSamples) {
    updates = someUpdates;
    samples = someSamples;
  }

  /**
   * Returns the optimizer's state as an array of its own.
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
