package io.vertigrad.internal.host;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;
import java.util.Optional;
import java.util.function.ObjDoubleConsumer;

/**
 * The replica of a worker, whose parameters may stay on its model's device.
 *
 * <p>Where the optimizer steps on the device, the newest parameters are there after a step. They
 * are copied to Java when {@link #parameters()} is called, and back before the next gradient or
 * step. The worker's thread and the strategy's hand the replica over to each other, so each call
 * happens before the next.
 */
public final class DeviceReplica extends Replica {

  /** Where the newest parameters are. */
  private enum Newest {
    JAVA,
    DEVICE,
    BOTH
  }

  private final Optional<Model> model;
  private Newest newest = Newest.JAVA;
  private boolean onDevice;
  private ObjDoubleConsumer<String> scalars = (name, value) -> {};

  /**
   * Creates the replica of a model in this JVM. It takes the model's present parameters.
   *
   * @param model computes the gradients
   * @param trainingSamples size of the training set, for counting epochs
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public DeviceReplica(Model model, long trainingSamples, float maxMagnitude) {
    super(new float[model.layout().length()], model.layout(), trainingSamples, maxMagnitude);
    this.model = Optional.of(model);
    takeFromModel();
  }

  /**
   * Creates the replica of a model in another JVM.
   *
   * @param parameters its vector; the replica takes ownership
   * @param layout the arrays of the vector
   * @param trainingSamples size of the training set, for counting epochs
   * @param maxMagnitude largest element of a gradient that is applied, finite
   */
  public DeviceReplica(
      float[] parameters, ParameterLayout layout, long trainingSamples, float maxMagnitude) {
    super(parameters, layout, trainingSamples, maxMagnitude);
    this.model = Optional.empty();
  }

  @Override
  public Optimizer optimizer(Engine engine, OptimizerConfig config) {
    Optimizer optimizer =
        model
            .map(on -> Optimizer.of(on, engine, config))
            .orElseGet(() -> super.optimizer(engine, config));
    onDevice |= optimizer.isOnDevice();
    return optimizer;
  }

  /** Returns whether an optimizer steps on the model's device. Gradients then stay there, too. */
  public boolean isOnDevice() {
    return onDevice;
  }

  @Override
  public float[] parameters() {
    copyToJava();
    newest = Newest.JAVA;
    return super.parameters();
  }

  @Override
  public void setParameters(float[] vector) {
    super.setParameters(vector);
    newest = Newest.JAVA;
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
  public Optional<float[]> beginGradient(boolean read) {
    if (!onDevice) {
      return Optional.of(super.parameters());
    }
    copyToDevice();
    if (read) {
      copyToJava();
    }
    return Optional.empty();
  }

  @Override
  public boolean step(Optimizer optimizer, LocalGradient gradient, double count) {
    if (!optimizer.isOnDevice() || gradient.isInJava()) {
      return super.step(optimizer, gradient, count);
    }
    copyToDevice();
    boolean finite = optimizer.stepOnDevice(updates(), epochs(), maxMagnitude());
    if (finite) {
      newest = Newest.DEVICE;
    }
    return count(finite, count);
  }

  @Override
  protected void apply(Optimizer optimizer, float[] gradient) {
    if (optimizer.isOnDevice()) {
      copyToDevice();
      optimizer.stepOnDevice(gradient, updates(), epochs());
      newest = Newest.DEVICE;
    } else {
      super.apply(optimizer, gradient);
    }
  }

  @Override
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

  private void copyToJava() {
    if (newest == Newest.DEVICE) {
      model.orElseThrow().readParameters(0, FloatBuffer.wrap(super.parameters()));
      newest = Newest.BOTH;
    }
  }

  private void copyToDevice() {
    if (newest == Newest.JAVA) {
      model.orElseThrow().writeParameters(0, FloatBuffer.wrap(super.parameters()));
      newest = Newest.BOTH;
    }
  }
}
