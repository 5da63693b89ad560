package io.vertigrad.internal.worker;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A whole model and its vector; gradients are no longer than the job allows. */
class VectorModel implements ReplicaModel {

  private final Model model;
  private final Engine engine;
  private final double clipNorm;
  private final Replica vector;
  private final float[] initial;
  private final List<Optimizer> optimizers = new ArrayList<>();
  private Optional<float[]> gradient = Optional.empty();
  private int inUse;
  private long run;
  private int rank;
  private boolean exact = true;
  private long whole;

  /**
   * Takes the model's parameters for the first of the vector.
   *
   * @param clipNorm longest gradient (L2 norm over all trainable elements); 0 for any
   * @param trainingSamples size of the training set
   * @param maxMagnitude largest element of a gradient that is applied
   */
  VectorModel(
      Model model, Engine engine, double clipNorm, long trainingSamples, float maxMagnitude) {
    this.model = model;
    this.engine = engine;
    this.clipNorm = clipNorm;
    int length = model.layout().length();
    float[] parameters = new float[length];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    this.vector =
        new Replica(parameters, model.layout().trainable(), trainingSamples, maxMagnitude);
    this.initial = parameters.clone();
  }

  /** Another incarnation begins, whose strategy takes the optimizers over as they are. */
  VectorModel begun() {
    inUse = 0;
    gradient = Optional.empty();
    return this;
  }

  /** What this worker holds in memory. */
  RunVersion point() {
    return new RunVersion(vector.updates(), run);
  }

  /**
   * Says which training and which rank the state belongs to.
   *
   * @param isExact false once a worker beyond the job's ranks had a part in it
   */
  void belongsTo(long someRun, int someRank, boolean isExact) {
    run = someRun;
    rank = someRank;
    exact = isExact;
  }

  /** The rank whose replica this is: its worker may have another one by now. */
  int rank() {
    return rank;
  }

  /** False once a worker beyond the job's ranks had a part in what is held. */
  boolean isExact() {
    return exact;
  }

  /** A version was reached and nothing of it is missing. */
  void reached(long version) {
    whole = version;
  }

  /** False while a step that was given up has left its trace. */
  boolean isWhole() {
    return whole == vector.updates();
  }

  /** Copies everything that is needed to go on from here. */
  PartitionCopy.Source copy(float[] memory, CopyMemory into) {
    return ReplicaState.of(vector, optimizers.subList(0, inUse), memory, into);
  }

  /** Goes back, or on, to a state that was kept. */
  void restore(PartitionSnapshot from, PeerStrategy rule) {
    rule.restore(ReplicaState.restore("worker", from, vector, optimizers.subList(0, inUse)));
  }

  /** Goes back to the initial parameters. */
  void restart(PeerStrategy rule) {
    vector.setParameters(initial.clone());
    vector.resume(0, 0);
    optimizers.forEach(each -> each.writeState(FloatBuffer.wrap(new float[each.stateLength()])));
    rule.restore(new float[0]);
  }

  @Override
  public Replica vector() {
    return vector;
  }

  @Override
  public long layout() {
    return model.layout().hash();
  }

  /**
   * The same ones in the same order for as long as this worker lives, so that their state outlives
   * an incarnation.
   */
  @Override
  public Optimizer optimizer(OptimizerConfig config) {
    if (inUse == optimizers.size()) {
      optimizers.add(Optimizer.of(engine, config, vector.trainable()));
    }
    return optimizers.get(inUse++);
  }

  @Override
  public void load(float[] parameters) {
    model.writeParameters(0, FloatBuffer.wrap(parameters));
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

  /** Where gradients go. */
  final float[] gradientArray() {
    if (gradient.isEmpty()) {
      gradient = Optional.of(new float[vector.length()]);
    }
    return gradient.get();
  }
}
