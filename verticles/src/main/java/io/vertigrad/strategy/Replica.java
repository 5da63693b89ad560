package io.vertigrad.strategy;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.ObjDoubleConsumer;

/**
 * One worker's parameters in exchange order, and their progress. Belongs to the strategy's thread
 * while a step is in progress, otherwise to the worker's thread.
 *
 * <p>Trainable elements are the head of the vector, running statistics its tail.
 *
 * <p>Where the optimizer steps on the model's device, the newest parameters are there after a step.
 * They are copied to Java when {@link #parameters()} is called, and back before the next gradient
 * or step. The two threads hand the replica over to each other, so each call happens before the
 * next; nothing here is called while the model computes, except {@link #parameters()} and {@link
 * #setParameters} by {@link PeerStrategy#begin()}, which do not reach for the device then.
 */
public final class Replica {

  /** Where the newest parameters are. */
  private enum Newest {
    JAVA,
    DEVICE,
    BOTH
  }

  private final Optional<Model> model;
  private final List<Block> blocks;
  private final int trainable;
  private final long trainingSamples;
  private final float maxMagnitude;
  private float[] parameters;
  private long updates;
  private double samples;
  private Newest newest = Newest.JAVA;
  private boolean onDevice;
  private ObjDoubleConsumer<String> scalars = (name, value) -> {};

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
    this(Optional.empty(), parameters, List.of(), trainable, trainingSamples, maxMagnitude);
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
    this(
        Optional.empty(),
        parameters,
        layout.blocks(),
        layout.trainable(),
        trainingSamples,
        maxMagnitude);
  }

  /**
   * Creates the replica of a model in this JVM, whose parameters may stay on its device. It takes
   * the model's present parameters.
   *
   * @param model computes the gradients
   * @param trainingSamples size of the training set, for counting epochs
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public Replica(Model model, long trainingSamples, float maxMagnitude) {
    this(
        Optional.of(model),
        new float[model.layout().length()],
        model.layout().blocks(),
        model.layout().trainable(),
        trainingSamples,
        maxMagnitude);
    takeFromModel();
  }

  private Replica(
      Optional<Model> model,
      float[] parameters,
      List<Block> blocks,
      int trainable,
      long trainingSamples,
      float maxMagnitude) {
    Objects.checkIndex(trainable, parameters.length + 1);
    this.model = model;
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
    Optimizer optimizer =
        model
            .map(on -> Optimizer.of(on, engine, config))
            .orElseGet(() -> Optimizer.of(engine, config, trainable));
    onDevice |= optimizer.isOnDevice();
    return optimizer;
  }

  /**
   * Returns whether an optimizer steps on the model's device. Gradients then stay there, too.
   *
   * @return false if Java takes all steps
   */
  public boolean isOnDevice() {
    return onDevice;
  }

  /**
   * Returns the vector itself, which the caller may change until the next step. Parameters on a
   * device are copied to it before.
   *
   * @return elements in exchange order
   */
  public float[] parameters() {
    copyToJava();
    newest = Newest.JAVA;
    return parameters;
  }

  /** Takes the parameters that the model has, for example those that servers sent. */
  public void takeFromModel() {
    newest = Newest.DEVICE;
    copyToJava();
  }

  /**
   * Prepares for the next gradient: parameters that are newer in Java are copied to the device.
   *
   * @param read true if {@link #parameters()} is called while the model computes that gradient
   * @return the vector that the worker has to copy to its model; empty if the device has it
   */
  public Optional<float[]> handOver(boolean read) {
    if (!onDevice) {
      return Optional.of(parameters);
    }
    copyToDevice();
    if (read) {
      copyToJava();
    }
    return Optional.empty();
  }

  private void copyToJava() {
    if (newest == Newest.DEVICE) {
      model.orElseThrow().readParameters(0, FloatBuffer.wrap(parameters));
      newest = Newest.BOTH;
    }
  }

  private void copyToDevice() {
    if (newest == Newest.JAVA) {
      model.orElseThrow().writeParameters(0, FloatBuffer.wrap(parameters));
      newest = Newest.BOTH;
    }
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
    if (!optimizer.isOnDevice() || gradient.isInJava()) {
      return step(optimizer, gradient.values(), count);
    }
    copyToDevice();
    boolean finite = optimizer.stepOnDevice(updates, epochs(), maxMagnitude);
    if (finite) {
      newest = Newest.DEVICE;
    }
    return count(finite, count);
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
    if (finite && optimizer.isOnDevice()) {
      copyToDevice();
      optimizer.stepOnDevice(gradient, updates, epochs());
      newest = Newest.DEVICE;
    } else if (finite) {
      optimizer.step(parameters(), gradient, updates, epochs());
    }
    return count(finite, count);
  }

  private boolean count(boolean finite, double count) {
    updates++;
    samples += finite ? count : 0;
    return finite;
  }

  /**
   * Reports a scalar of this worker at the number of steps taken; see {@code Scalars}.
   *
   * @param name a letter and up to 63 more letters, digits, {@code _}, {@code .} or {@code -}
   * @param value the value; one that is not finite is drawn as a gap
   */
  public void report(String name, double value) {
    scalars.accept(name, value);
  }

  /**
   * Sets the receiver of {@link #report}. Without one, reports do nothing.
   *
   * @param receiver must not block
   */
  public void reportTo(ObjDoubleConsumer<String> receiver) {
    scalars = receiver;
  }

  /**
   * Replaces the parameters without counting an update.
   *
   * @param vector from another worker or a checkpoint; the replica takes ownership
   */
  public void setParameters(float[] vector) {
    parameters = vector;
    newest = Newest.JAVA;
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
