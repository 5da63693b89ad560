package io.vertigrad.internal.worker;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;

/** A whole model and its vector; gradients are no longer than the job allows. */
final class VectorModel implements ReplicaModel {

  private final Model model;
  private final Engine engine;
  private final double clipNorm;
  private final Replica vector;
  private final float[] gradient;

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
    this.gradient = new float[length];
  }

  @Override
  public Replica vector() {
    return vector;
  }

  @Override
  public long layout() {
    return model.layout().hash();
  }

  @Override
  public Optimizer optimizer(OptimizerConfig config) {
    return Optimizer.of(engine, config, vector.trainable());
  }

  @Override
  public void load(float[] parameters) {
    model.writeParameters(0, FloatBuffer.wrap(parameters));
  }

  @Override
  public float[] gradient() {
    model.readGradient(0, FloatBuffer.wrap(gradient));
    if (clipNorm > 0) {
      GradientClip.clip(gradient, vector.trainable(), clipNorm);
    }
    return gradient;
  }
}
