package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.worker.PeerTrainingLoop.PeerTrainingPlan;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;

/** A worker's model beside the vector that its strategy works on; belongs to the model's thread. */
final class PeerReplica {

  private final Model model;
  private final Engine engine;
  private final double clipNorm;
  private final Replica vector;
  private final float[] gradient;

  PeerReplica(Model model, PeerTrainingPlan plan) {
    this.model = model;
    this.engine = Engine.named(plan.job().engine());
    this.clipNorm = plan.training().clipNorm();
    int length = model.layout().length();
    float[] parameters = new float[length];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    this.vector = new Replica(parameters, model.layout().trainable(), plan.trainingSamples());
    this.gradient = new float[length];
  }

  Replica vector() {
    return vector;
  }

  long layout() {
    return model.layout().hash();
  }

  /** An optimizer of the vector, with zero state. */
  Optimizer optimizer(OptimizerConfig config) {
    return Optimizer.of(engine, config, vector.trainable());
  }

  /** Puts the vector into the model. */
  void load() {
    model.writeParameters(0, FloatBuffer.wrap(vector.parameters()));
  }

  /** Computes the gradient of a batch; its loss. */
  double compute(Batch batch) {
    return model.gradient(batch);
  }

  /** How many samples of that batch were classified correctly; -1 where the model cannot tell. */
  int correct() {
    return model.correct();
  }

  /** The gradient computed last, no longer than the job allows; valid until the next one. */
  LocalGradient gradient(int samples) {
    model.readGradient(0, FloatBuffer.wrap(gradient));
    if (clipNorm > 0) {
      clip();
    }
    return new LocalGradient(gradient, samples);
  }

  /** {@code g *= min(1, clipNorm / |g|)} over the trainable elements: Pascanu et al. 2013. */
  private void clip() {
    double squares = 0;
    for (int i = 0; i < vector.trainable(); i++) {
      squares += (double) gradient[i] * gradient[i];
    }
    double norm = Math.sqrt(squares);
    if (norm > clipNorm && norm < Double.POSITIVE_INFINITY) {
      float factor = (float) (clipNorm / norm);
      for (int i = 0; i < vector.trainable(); i++) {
        gradient[i] *= factor;
      }
    }
  }
}
