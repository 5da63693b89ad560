package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * One stage's part of one step: runs its actions in order until the gradient of the whole batch is
 * summed. It does not change parameters.
 */
final class StageStep {

  private final StageModel model;
  private final StageNeighbours neighbours;
  private final LongSupplier nanoClock;
  private final SpanRecorder track;
  private final long step;
  private final int samples;
  private final int microBatches;
  private final Batch batch;
  private final float[] sum;
  private final Map<Integer, float[]> kept = new HashMap<>();
  private double lossSum;
  private int correct;
  private boolean uncounted;
  private long computedNanos;

  /**
   * Creates a step that has not begun.
   *
   * @param samples number of samples of the whole batch
   * @param microBatches number of parts that the batch is cut into
   * @param batch the data; null in a stage between the first and the last
   * @param sum array in which the gradient is summed; cleared first
   */
  StageStep(
      StageModel model,
      StageNeighbours neighbours,
      LongSupplier nanoClock,
      SpanRecorder track,
      long step,
      int samples,
      int microBatches,
      Batch batch,
      float[] sum) {
    this.model = model;
    this.neighbours = neighbours;
    this.nanoClock = nanoClock;
    this.track = track;
    this.step = step;
    this.samples = samples;
    this.microBatches = microBatches;
    this.batch = batch;
    this.sum = sum;
  }

  void run(List<Action> actions) {
    Arrays.fill(sum, 0);
    for (Action action : actions) {
      long begun = track.now();
      if (action.kind() == Action.Kind.FORWARD) {
        forward(action.microBatch());
      } else {
        backward(action.microBatch());
      }
      String name = action.kind() == Action.Kind.FORWARD ? "forward" : "backward";
      track.span(name, begun, track.now(), step - 1);
    }
  }

  /** Returns the mean loss of the batch, which only the last stage knows. */
  double loss() {
    return lossSum / samples;
  }

  /**
   * Returns the number of samples classified correctly, which only the last stage knows; -1 if its
   * model does not count them.
   */
  int correct() {
    return uncounted ? -1 : correct;
  }

  long computedNanos() {
    return computedNanos;
  }

  private void forward(int microBatch) {
    float[] input = input(microBatch);
    kept.put(microBatch, input);
    if (!model.hasLoss()) {
      long begun = nanoClock.getAsLong();
      FloatBuffer output = model.forward(input, count(microBatch));
      computedNanos += nanoClock.getAsLong() - begun;
      neighbours.send(Direction.FORWARD, step, microBatch, output);
    }
  }

  private void backward(int microBatch) {
    float[] input = kept.remove(microBatch);
    FloatBuffer gradient = model.hasLoss() ? loss(microBatch, input) : middle(microBatch, input);
    if (!isFirst()) {
      neighbours.send(Direction.BACKWARD, step, microBatch, gradient);
    }
  }

  private FloatBuffer loss(int microBatch, float[] input) {
    Batch part = batch.part(first(microBatch), first(microBatch + 1), input, model.spec().input());
    long begun = nanoClock.getAsLong();
    StageLoss loss = model.loss(part);
    lossSum += loss.sum();
    correct += Math.max(0, loss.correct());
    uncounted |= loss.correct() < 0;
    model.addGradient(sum, samples);
    computedNanos += nanoClock.getAsLong() - begun;
    return loss.inputGradient();
  }

  private FloatBuffer middle(int microBatch, float[] input) {
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
