package io.vertigrad.internal.worker;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.strategy.PeerStrategy;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A whole model and its vector. Clips gradients to the job's limit. */
class VectorModel implements ReplicaModel {

  private final Model model;
  private final Engine engine;
  private final double clipNorm;
  private final DeviceReplica vector;
  private final float[] initial;
  private final List<Optimizer> optimizers = new ArrayList<>();
  private Optional<float[]> gradient = Optional.empty();
  private int optimizersInUse;
  private long run;
  private int rank;
  private boolean repeatable = true;
  private long completeVersion;

  /**
   * Creates the vector from the model's current parameters. They may stay on the model's device.
   *
   * @param clipNorm largest L2 norm of a gradient over all trainable elements; 0 for no limit
   * @param trainingSamples size of the training set
   * @param maxMagnitude largest magnitude of an element of a gradient that is applied
   */
  VectorModel(
      Model model, Engine engine, double clipNorm, long trainingSamples, float maxMagnitude) {
    this(model, engine, clipNorm, new DeviceReplica(model, trainingSamples, maxMagnitude));
  }

  /**
   * Creates the model of a given vector.
   *
   * @param clipNorm largest L2 norm of a gradient over all trainable elements; 0 for no limit
   */
  VectorModel(Model model, Engine engine, double clipNorm, DeviceReplica vector) {
    this.model = model;
    this.engine = engine;
    this.clipNorm = clipNorm;
    this.vector = vector;
    this.initial = vector.parameters().clone();
  }

  /** Begins another incarnation, whose strategy takes over the optimizers with their state. */
  VectorModel beginIncarnation() {
    optimizersInUse = 0;
    gradient = Optional.empty();
    return this;
  }

  @Override
  public RunVersion state() {
    return new RunVersion(vector.updates(), run);
  }

  /**
   * Sets the training run and the rank that the state belongs to.
   *
   * @param isExact false once a worker beyond the job's ranks has contributed to it
   */
  void setOrigin(long someRun, int someRank, boolean isRepeatable) {
    run = someRun;
    rank = someRank;
    repeatable = isRepeatable;
  }

  /** Returns the rank of this replica. The worker itself may have another rank by now. */
  int rank() {
    return rank;
  }

  /** Returns false once a worker beyond the job's ranks has contributed to the state. */
  boolean isRepeatable() {
    return repeatable;
  }

  @Override
  public void reached(long version) {
    completeVersion = version;
  }

  /** Returns false if a step that was given up has changed a part of the state. */
  boolean isComplete() {
    return completeVersion == vector.updates();
  }

  @Override
  public SavedState copy(float[] memory, CopyMemory into) {
    SavedState copy =
        ReplicaState.copy(vector, optimizers.subList(0, optimizersInUse), memory, into);
    if (vector.isOnDevice()) {
      // The model computes on the device next, so another thread cannot read from it.
      copy.make();
    }
    return copy;
  }

  /** Restores a state from a checkpoint, which may be older or newer than the current one. */
  void restore(SavedState from, PeerStrategy rule) {
    rule.restore(
        ReplicaState.restore("worker", from, vector, optimizers.subList(0, optimizersInUse)));
  }

  /** Restores the initial parameters. */
  void restart(PeerStrategy rule) {
    vector.setParameters(initial.clone());
    vector.resume(0, 0);
    optimizers.forEach(each -> each.writeState(FloatBuffer.wrap(new float[each.stateLength()])));
    rule.restore(new float[0]);
  }

  @Override
  public DeviceReplica vector() {
    return vector;
  }

  @Override
  public long layout() {
    return model.layout().hash();
  }

  /**
   * Returns the same optimizers in the same order for as long as this worker lives, so that their
   * state survives an incarnation.
   */
  @Override
  public Optimizer optimizer(OptimizerConfig config) {
    if (optimizersInUse == optimizers.size()) {
      optimizers.add(vector.optimizer(engine, config));
    }
    return optimizers.get(optimizersInUse++);
  }

  @Override
  public void load(float[] parameters) {
    model.writeParameters(0, FloatBuffer.wrap(parameters));
  }

  @Override
  public float[] parameters() {
    float[] copy = new float[vector.length()];
    model.readParameters(0, FloatBuffer.wrap(copy));
    return copy;
  }

  @Override
  public void gradientsInto(float[] array) {
    gradient = Optional.of(array);
  }

  @Override
  public float[] gradient(int first, int end) {
    float[] array = gradientArray();
    model.readGradient(first, FloatBuffer.wrap(array, first, end - first));
    return array;
  }

  @Override
  public float[] gradient() {
    float[] array = gradient(0, vector.length());
    if (clipNorm > 0) {
      GradientClip.clip(array, vector.trainable(), clipNorm);
    }
    return array;
  }

  /** Returns the array for gradients. */
  final float[] gradientArray() {
    if (gradient.isEmpty()) {
      gradient = Optional.of(new float[vector.length()]);
    }
    return gradient.get();
  }
}
