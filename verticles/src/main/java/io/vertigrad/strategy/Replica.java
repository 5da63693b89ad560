package io.vertigrad.strategy;

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
  private float[] parameters;
  private long updates;
  private double samples;

  /**
   * A replica with these parameters, which it takes over.
   *
   * @param trainable how many of them an optimizer steps
   * @param trainingSamples size of the training set, of which an epoch consists
   */
  public Replica(float[] parameters, int trainable, long trainingSamples) {
    Objects.checkIndex(trainable, parameters.length + 1);
    this.parameters = parameters;
    this.trainable = trainable;
    this.trainingSamples = trainingSamples;
  }

  /** The vector itself; another array after each step. */
  public float[] parameters() {
    return parameters;
  }

  /** Elements of the whole vector. */
  public int length() {
    return parameters.length;
  }

  /** Elements the optimizer steps. */
  public int trainable() {
    return trainable;
  }

  /** Steps taken. */
  public long updates() {
    return updates;
  }

  /** Samples applied by all workers over the size of the training set. */
  public double epochs() {
    return samples / trainingSamples;
  }

  /** Samples applied by all workers. */
  public double samples() {
    return samples;
  }

  /**
   * One optimizer step on a vector that becomes the parameters; {@code gradient} is used up. Where
   * it holds NaN or infinity it is left out: the vector becomes the parameters as it is, after one
   * more update of no samples.
   *
   * @return true when the step was taken
   */
  public boolean step(Optimizer optimizer, float[] from, float[] gradient, double count) {
    boolean finite = new LocalGradient(gradient, 1).isFinite();
    if (finite) {
      optimizer.step(from, gradient, updates, epochs());
    }
    advance(from, finite ? count : 0);
    return finite;
  }

  /** Takes a vector as the parameters after one more update. */
  public void advance(float[] next, double count) {
    parameters = next;
    updates++;
    samples += count;
  }

  /** Takes over a whole vector, as another worker sent it. */
  public void become(float[] vector) {
    parameters = vector;
  }

  /** Goes on from where another worker is. */
  public void resume(long someUpdates, double someSamples) {
    updates = someUpdates;
    samples = someSamples;
  }

  /** The optimizer's state as an array of its own. */
  public static float[] state(Optimizer optimizer) {
    float[] state = new float[optimizer.stateLength()];
    optimizer.readState(FloatBuffer.wrap(state));
    return state;
  }
}
