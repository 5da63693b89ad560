package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The steps that a worker takes by itself between two versions of the servers. To its exchange they
 * look like one step: the {@linkplain #model model}'s gradient is how far the parameters have
 * moved, {@code parameters before - parameters after}.
 *
 * <p>The optimizer's state stays with the worker from version to version. With the version's
 * parameters and the step it decides the bits of the next gradient, so {@link ServerExchange} keeps
 * it for a replacement. Belongs to the model's thread.
 */
final class LocalSteps {

  private final Model model;
  private final JobConfig job;
  private final long every;
  private final DeviceReplica replica;
  private final Optimizer optimizer;
  private final float[] moved;
  private final float[] gradient;

  /**
   * Creates the local steps of a worker, which has no state yet.
   *
   * @param model computes the gradients of the steps
   * @param every number of steps for each version
   * @param trainingSamples size of the training set
   */
  LocalSteps(Model model, JobConfig job, long every, long trainingSamples) {
    this.model = model;
    this.job = job;
    this.every = every;
    this.replica = new DeviceReplica(model, trainingSamples, job.exchange().maxMagnitude());
    this.optimizer = replica.optimizer(Engine.named(job.engine()), job.optimizer());
    this.moved = new float[model.layout().length()];
    this.gradient = new float[moved.length];
  }

  /** Returns the model whose gradient is the sum of the local steps. */
  Model model() {
    return new MovedModel();
  }

  /** Returns the optimizer's state. */
  SavedState.Part optimizer() {
    return SavedState.Part.of(SavedState.OPTIMIZER, optimizer);
  }

  /** Begins an incarnation, without state of the optimizer, on these batches. */
  GradientSource source(Incarnation self, GradientSource batches) {
    forget();
    return new Source(self, batches);
  }

  private void forget() {
    optimizer.writeState(FloatBuffer.allocate(optimizer.stateLength()));
  }

  private float[] gradient() {
    model.readGradient(0, FloatBuffer.wrap(gradient));
    if (job.optimizer().clipNorm() > 0) {
      GradientClip.clip(gradient, replica.trainable(), job.optimizer().clipNorm());
    }
    return gradient;
  }

  /** Takes the local steps of one incarnation. */
  private final class Source implements GradientSource {

    private final Incarnation self;
    private final GradientSource batches;

    Source(Incarnation self, GradientSource batches) {
      this.self = self;
      this.batches = batches;
    }

    /**
     * Takes the steps from {@code step * every} on; those of the last version may be fewer. The
     * model then has the parameters again that it had before.
     *
     * @throws GroupChangedException when the worker is to stop before the last of them
     */
    @Override
    public Computed compute(long version, long step, Optional<Overlap> overlap) {
      float[] before = new float[moved.length];
      model.readParameters(0, FloatBuffer.wrap(before));
      replica.takeFromModel();
      long first = step * every;
      long count = Math.max(1, Math.min(every, job.steps() - first));
      replica.resume(first, (double) first * job.workers().batch() * job.workers().count());
      Computed sum = batches.compute(version, first, Optional.empty());
      apply(sum.samples());
      for (long next = first + 1; next < first + count; next++) {
        if (self.stop().getAsBoolean()) {
          throw new GroupChangedException("the worker stops");
        }
        replica
            .beginGradient(false)
            .ifPresent(own -> model.writeParameters(0, FloatBuffer.wrap(own)));
        Computed computed = batches.compute(version, next, Optional.empty());
        apply(computed.samples());
        sum = sum.plus(computed);
      }
      float[] after = replica.parameters();
      for (int i = 0; i < moved.length; i++) {
        moved[i] = before[i] - after[i];
      }
      if (!(Magnitudes.largest(moved, 0, moved.length) <= job.exchange().maxMagnitude())) {
        forget();
      }
      model.writeParameters(0, FloatBuffer.wrap(before));
      return sum;
    }

    private void apply(int samples) {
      double all = (double) samples * job.workers().count();
      replica.step(optimizer, new LocalGradient(LocalSteps.this::gradient, samples), all);
    }

    @Override
    public void close() {
      batches.close();
    }
  }

  /** The model with the difference of the parameters in place of the gradient. */
  private final class MovedModel implements Model {

    @Override
    public ParameterLayout layout() {
      return model.layout();
    }

    @Override
    public void readParameters(int first, FloatBuffer destination) {
      model.readParameters(first, destination);
    }

    @Override
    public void writeParameters(int first, FloatBuffer source) {
      model.writeParameters(first, source);
    }

    @Override
    public double gradient(Batch batch) {
      return model.gradient(batch);
    }

    @Override
    public void readGradient(int first, FloatBuffer destination) {
      destination.put(moved, first, destination.remaining());
    }

    @Override
    public Score score(Batch batch, int topK) {
      return model.score(batch, topK);
    }

    @Override
    public void save(Path file) throws IOException {
      model.save(file);
    }

    @Override
    public void close() {}
  }
}
