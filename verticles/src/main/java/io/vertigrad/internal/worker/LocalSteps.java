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
import io.vertigrad.strategy.LocalRule;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntToLongFunction;

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
  private final StrategyTraits traits;
  private final LocalRule rule;
  private final IntToLongFunction ownSamples;
  private final long trainingSamples;
  private final DeviceReplica replica;
  private final Optimizer optimizer;
  private final float[] moved;
  private final float[] gradient;

  /**
   * Creates the local steps of a worker, which has no state yet.
   *
   * @param model computes the gradients of the steps
   * @param strategy has the number of steps for each version, and the rule beside them
   * @param ownSamples returns the number of samples in one pass of a rank
   * @param trainingSamples size of the training set
   */
  LocalSteps(
      Model model,
      JobConfig job,
      StrategyFactory strategy,
      IntToLongFunction ownSamples,
      long trainingSamples) {
    this.model = model;
    this.job = job;
    this.traits = strategy.traits();
    this.rule = strategy.localRule(job, model.layout());
    this.ownSamples = ownSamples;
    this.trainingSamples = trainingSamples;
    this.replica = new DeviceReplica(model, trainingSamples, job.exchange().maxMagnitude());
    this.optimizer = replica.optimizer(Engine.named(job.engine()), job.optimizer());
    this.moved = new float[model.layout().length()];
    this.gradient = new float[moved.length];
  }

  /** Returns the model whose gradient is the sum of the local steps. */
  Model model() {
    return new MovedModel();
  }

  /** Returns the optimizer's state, unless it begins anew, and what the rule remembers. */
  List<SavedState.Part> parts() {
    float[] memory = rule.memory();
    SavedState.Part remembered =
        SavedState.Part.of(
            SavedState.MEMORY, () -> memory.length, to -> to.put(memory), from -> from.get(memory));
    return rule.restartsOptimizer()
        ? List.of(remembered)
        : List.of(SavedState.Part.of(SavedState.OPTIMIZER, optimizer), remembered);
  }

  /** Returns whether the steps of a version start with more than the servers' parameters. */
  boolean keepsState() {
    return parts().stream().anyMatch(part -> part.length() > 0);
  }

  /** Begins an incarnation, without state of optimizer and rule, on these batches. */
  GradientSource source(Incarnation self, GradientSource batches) {
    forget();
    Arrays.fill(rule.memory(), 0);
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
    if (rule.adjusts()) {
      rule.adjust(replica.parameters(), gradient);
    }
    return gradient;
  }

  /** Takes the local steps of one incarnation. */
  private final class Source implements GradientSource {

    private final Incarnation self;
    private final GradientSource batches;
    private final long every;
    private final double share;
    private int epoch;

    Source(Incarnation self, GradientSource batches) {
      this.self = self;
      this.batches = batches;
      long own = ownSamples.applyAsLong(self.identity().rank());
      boolean passes = traits.localEpochs() > 0;
      every = passes ? traits.localEpochs() * job.workers().batches(own, 1) : traits.localSteps();
      // Samples of all workers behind one of this worker.
      share = passes ? (double) trainingSamples / own : job.workers().count();
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
      LocalRule.Round round = new LocalRule.Round(self.identity().rank(), version, planned(first));
      long count = rule.begin(round, before);
      if (count == 0) {
        Arrays.fill(moved, 0);
        return new Computed(epoch, 1, 0, 0, 0, 0, 0, 0);
      }
      if (rule.restartsOptimizer()) {
        forget();
      }
      replica.resume(first, samplesBefore(first));
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
      epoch = sum.epoch();
      float[] after = replica.parameters();
      for (int i = 0; i < moved.length; i++) {
        moved[i] = before[i] - after[i];
      }
      if (Magnitudes.largest(moved, 0, moved.length) <= job.exchange().maxMagnitude()) {
        rule.finish(moved);
      } else {
        forget();
      }
      model.writeParameters(0, FloatBuffer.wrap(before));
      return sum;
    }

    /** Returns the number of steps; without rounds, a worker may be ahead of the job's steps. */
    private long planned(long first) {
      return traits.localEpochs() > 0 || !traits.lockstep()
          ? every
          : Math.max(1, Math.min(every, job.steps() - first));
    }

    /** Returns the samples of all workers before a step, if all batches are full. */
    private double samplesBefore(long first) {
      return traits.localEpochs() > 0
          ? (double) first / every * traits.localEpochs() * trainingSamples
          : first * job.workers().batch() * share;
    }

    private void apply(int samples) {
      LocalGradient local = new LocalGradient(LocalSteps.this::gradient, samples);
      if (rule.adjusts()) {
        // A rule changes gradients in Java, wherever the optimizer steps.
        local.values();
      }
      replica.step(optimizer, local, samples * share);
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
