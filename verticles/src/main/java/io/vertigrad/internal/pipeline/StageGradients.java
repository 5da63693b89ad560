package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.internal.pipeline.Schedule.Action;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import io.vertigrad.job.PipelineConfig;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/** Computes the gradients of one stage: runs all actions of a step without changing parameters. */
final class StageGradients implements GradientSource {

  private final StageContext context;
  private final StageReplica replica;
  private final StageNeighbours neighbours;
  private final BatchesOfRank batches;
  private final PipelineConfig pipeline;
  private final int rank;
  private long movedNanos;
  private long waitedNanos;

  /**
   * Creates the gradient source of one incarnation.
   *
   * @param batches those of the replicas
   * @param rank rank of the member
   */
  StageGradients(
      StageContext context,
      StageReplica replica,
      StageNeighbours neighbours,
      BatchesOfRank batches,
      int rank) {
    this.context = context;
    this.replica = replica;
    this.neighbours = neighbours;
    this.batches = batches;
    this.pipeline = context.job().pipeline().orElseThrow();
    this.rank = rank;
  }

  @Override
  public Computed compute(long version, long step, Optional<Overlap> overlap) {
    long started = context.nanoClock().getAsLong();
    int samples = context.sizes().of(version);
    Batch batch = batch(version, samples);
    long ready = context.nanoClock().getAsLong();
    int parts = Math.min(pipeline.microBatches(), samples);
    StageStep work = new StageStep(version + 1, samples, parts, batch);
    Schedule schedule = Schedule.named(pipeline.schedule(), pipeline.stages(), parts);
    work.run(schedule.stages().get(pipeline.stageOf(rank)));
    long moved = neighbours.transferNanos() - movedNanos;
    long waited = neighbours.waitedNanos() - waitedNanos;
    movedNanos += moved;
    waitedNanos += waited;
    return new Computed(
        context.sizes().epoch(version),
        samples,
        replica.model().hasLoss() ? samples : 0,
        work.loss(),
        GradientSource.share(work.correct(), replica.model().answers()),
        ready - started + waited,
        work.computedNanos(),
        moved);
  }

  /**
   * Returns the batch of a step for the first stage, which needs its features, and the last, which
   * needs its labels; null for the others.
   */
  private Batch batch(long step, int samples) {
    int stage = pipeline.stageOf(rank);
    if (stage > 0 && stage < pipeline.stages() - 1) {
      return null;
    }
    Batch batch = batches.batch(pipeline.replicaOf(rank), step);
    if (batch.count() != samples) {
      throw new IllegalStateException(
          "%s: the batch of step %s has %s samples, expected %s"
              .formatted(pipeline.name(rank), step, batch.count(), samples));
    }
    return batch;
  }

  /**
   * One stage's part of one step: runs its actions in order until the gradient of the whole batch
   * is summed. It does not change parameters.
   */
  private final class StageStep {

    private final StageModel model = replica.model();
    private final LongSupplier nanoClock = context.nanoClock();
    private final float[] sum = replica.gradient();
    private final long step;
    private final int samples;
    private final int microBatches;
    private final Batch batch;
    private final Map<Integer, float[]> keptInputs = new HashMap<>();
    private double lossSum;
    private int correct;
    private boolean accuracyUnknown;
    private long computedNanos;

    /**
     * Creates a step that has not begun.
     *
     * @param samples number of samples of the whole batch
     * @param microBatches number of parts that the batch is cut into
     * @param batch the data; null in a stage between the first and the last
     */
    StageStep(long step, int samples, int microBatches, Batch batch) {
      this.step = step;
      this.samples = samples;
      this.microBatches = microBatches;
      this.batch = batch;
    }

    void run(List<Action> actions) {
      Arrays.fill(sum, 0);
      SpanRecorder recorder = context.recorder();
      for (Action action : actions) {
        long begun = recorder.now();
        if (action.kind() == Action.Kind.FORWARD) {
          forward(action.microBatch());
        } else {
          backward(action.microBatch());
        }
        String name = action.kind() == Action.Kind.FORWARD ? "forward" : "backward";
        recorder.span(name, begun, recorder.now(), step - 1);
      }
    }

    /** Returns the mean loss of the batch, which only the last stage knows. */
    double loss() {
      return lossSum / samples;
    }

    /**
     * Returns the number of samples classified correctly, which only the last stage knows; -1 if
     * its model does not count them.
     */
    int correct() {
      return accuracyUnknown ? -1 : correct;
    }

    long computedNanos() {
      return computedNanos;
    }

    private void forward(int microBatch) {
      float[] input = input(microBatch);
      keptInputs.put(microBatch, input);
      if (!model.hasLoss()) {
        long begun = nanoClock.getAsLong();
        FloatBuffer output = model.forward(input, count(microBatch));
        computedNanos += nanoClock.getAsLong() - begun;
        neighbours.send(Direction.FORWARD, step, microBatch, output);
      }
    }

    private void backward(int microBatch) {
      float[] input = keptInputs.remove(microBatch);
      FloatBuffer gradient =
          model.hasLoss() ? loss(microBatch, input) : backwardMiddle(microBatch, input);
      if (!isFirst()) {
        neighbours.send(Direction.BACKWARD, step, microBatch, gradient);
      }
    }

    private FloatBuffer loss(int microBatch, float[] input) {
      Batch part =
          batch.part(first(microBatch), first(microBatch + 1), input, model.spec().input());
      long begun = nanoClock.getAsLong();
      StageLoss loss = model.loss(part);
      lossSum += loss.sum();
      correct += Math.max(0, loss.correct());
      accuracyUnknown |= loss.correct() < 0;
      model.addGradient(sum, samples);
      computedNanos += nanoClock.getAsLong() - begun;
      return loss.inputGradient();
    }

    private FloatBuffer backwardMiddle(int microBatch, float[] input) {
      int count = count(microBatch);
      int length = count * model.spec().outputLength();
      float[] outputGradient = neighbours.receive(Direction.BACKWARD, step, microBatch, length);
      long begun = nanoClock.getAsLong();
      FloatBuffer gradient = model.backward(input, outputGradient, count);
      model.addGradient(sum, samples);
      computedNanos += nanoClock.getAsLong() - begun;
      return gradient;
    }

    private float[] input(int microBatch) {
      int length = model.spec().inputLength();
      if (isFirst()) {
        return Arrays.copyOfRange(
            batch.features(), first(microBatch) * length, first(microBatch + 1) * length);
      }
      return neighbours.receive(Direction.FORWARD, step, microBatch, count(microBatch) * length);
    }

    private boolean isFirst() {
      return model.spec().index() == 0;
    }

    private int count(int microBatch) {
      return first(microBatch + 1) - first(microBatch);
    }

    private int first(int microBatch) {
      return BatchSizes.first(samples, microBatch, microBatches);
    }
  }
}
