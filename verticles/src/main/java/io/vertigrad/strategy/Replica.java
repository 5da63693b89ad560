package io.vertigrad.strategy;

import io.vertigrad.compute.optimizer.Optimizer;
import java.nio.FloatBuffer;
import java.util.Objects;

/**
 * One worker's parameters in exchange order, and how far they have come; belongs to its thread.
 *
 * <p>Trainable elements are the head of the vector, running statistics its tail.
 */
public final class Replica {

  private final int trainable;
  private final long trainingSamples;
  private float[] parameters;
  private long updates;
  private double samples;

  /**
   * A replica with these parameters, which it takes over.
   *
   * @param parameters the whole exchange vector
   * @param trainable how many of them an optimizer steps
   * @param trainingSamples size of the training set, of which an epoch consists
   */
  public Replica(float[] parameters, int trainable, long trainingSamples) {
    Objects.checkIndex(trainable, parameters.length + 1);
    this.parameters = parameters;
    this.trainable = trainable;
    this.trainingSamples = trainingSamples;
  }

  /**
   * The vector itself; another array after each step.
   *
   * @return the exchange vector, not a copy
   */
  public float[] parameters() {
    return parameters;
  }

  /**
   * Elements of the whole vector.
   *
   * @return trainable elements and statistics
   */
  public int length() {
    return parameters.length;
  }

  /**
   * Elements the optimizer steps.
   *
   * @return trainable elements, which come first
   */
  public int trainable() {
    return trainable;
  }

  /**
   * Steps taken.
   *
   * @return the number of updates, from 0
   */
  public long updates() {
    return updates;
  }

  /**
   * Samples applied by all workers over the size of the training set.
   *
   * @return passes over the training set, from 0
   */
  public double epochs() {
    return samples / trainingSamples;
  }

  /**
   * Samples applied by all workers.
   *
   * @return the number of samples; a mean over workers may leave a fraction
   */
  public double samples() {
    return samples;
  }

  /**
   * One optimizer step on a vector that becomes the parameters; {@code gradient} is used up.
   *
   * @param optimizer makes the step and keeps the state
   * @param from the vector that is stepped; it becomes the parameters
   * @param gradient as long as the vector
   * @param count samples of all workers in this update
   */
  public void step(Optimizer optimizer, float[] from, float[] gradient, double count) {
    optimizer.step(from, gradient, updates, epochs());
    advance(from, count);
  }

  /**
   * Takes a vector as the parameters after one more update.
   *
   * @param next the parameters from now on
   * @param count samples of all workers in this update
   */
  public void advance(float[] next, double count) {
    parameters = next;
    updates++;
    samples += count;
  }

  /**
   * Takes over a whole vector, as another worker sent it.
   *
   * @param vector as long as the present parameters
   */
  public void become(float[] vector) {
    parameters = vector;
  }

  /**
   * Goes on from where another worker is.
   *
   * @param someUpdates the other worker's number of updates
   * @param someSamples the other worker's number of samples
   */
  public void resume(long someUpdates, double someSamples) {
    updates = someUpdates;
    samples = someSamples;
  }

  /**
   * The optimizer's state as an array of its own.
   *
   * @param optimizer whose state is copied
   * @return a new array
   */
  public static float[] state(Optimizer optimizer) {
    float[] state = new float[optimizer.stateLength()];
    optimizer.readState(FloatBuffer.wrap(state));
    return state;
  }
}
