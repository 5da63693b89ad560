package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.pipeline.StageModel;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.function.LongConsumer;

/**
 * One stage's part of a test: batches go forward through all stages in inference mode, so that
 * neither parameters nor statistics change. The last stage computes the score.
 *
 * <p>A stage is at most {@value #AHEAD} batches ahead of the next one, which acknowledges each
 * batch.
 */
final class StageEvaluation {

  private static final int AHEAD = 4;
  private static final float[] TAKEN = {1};

  private final StageModel model;
  private final StageNeighbours neighbours;
  private final int batch;
  private final int firstIndex;
  private final int topK;
  private final LongConsumer through;

  /**
   * Creates the test of a stage.
   *
   * @param batch most samples of a test batch
   * @param firstIndex number of the first test batch of a step; the step's micro-batches have the
   *     numbers below
   * @param topK also counts samples whose class is among this many most probable ones; 0 for none
   * @param through called with the number of samples that went through, batch by batch
   */
  StageEvaluation(
      StageModel model,
      StageNeighbours neighbours,
      int batch,
      int firstIndex,
      int topK,
      LongConsumer through) {
    this.model = model;
    this.neighbours = neighbours;
    this.batch = batch;
    this.firstIndex = firstIndex;
    this.topK = topK;
    this.through = through;
  }

  /**
   * Tests the stage; blocks until the next stage has received the last batch.
   *
   * @param step number of steps taken by the parameters under test
   * @param before number of batches that were tested at this step already
   * @return the score of all samples in the last stage, {@link Score#NONE} in the others
   */
  Score run(long step, int before, SequentialBatches samples) {
    int batches = batches(samples.samples());
    int index = firstIndex + before;
    Iterator<Batch> data = samples.iterator();
    Score score = Score.NONE;
    for (int i = 0; i < batches; i++) {
      int count = Math.min(batch, samples.samples() - i * batch);
      Batch own = readsData() ? data.next() : null;
      float[] input = input(step, index + i, count, own);
      if (model.hasLoss()) {
        score = score.plus(model.score(own.with(input, model.spec().input()), topK));
      } else {
        FloatBuffer output = model.infer(input, count);
        if (i >= AHEAD) {
          awaitTaken(step, index + i - AHEAD);
        }
        neighbours.send(Direction.FORWARD, step, index + i, output);
      }
      through.accept(count);
    }
    for (int i = Math.max(0, batches - AHEAD); i < batches && !model.hasLoss(); i++) {
      awaitTaken(step, index + i);
    }
    return score;
  }

  /** Returns the number of batches for this many samples. */
  int batches(int samples) {
    return (samples + batch - 1) / batch;
  }

  private float[] input(long step, int index, int count, Batch own) {
    if (isFirst()) {
      return own.features();
    }
    int length = count * model.spec().inputLength();
    float[] input = neighbours.receive(Direction.FORWARD, step, index, length);
    neighbours.send(Direction.BACKWARD, step, index, FloatBuffer.wrap(TAKEN));
    return input;
  }

  private void awaitTaken(long step, int index) {
    neighbours.receive(Direction.BACKWARD, step, index, TAKEN.length);
  }

  /** Returns true in the first stage, which reads features, and in the last, which reads labels. */
  private boolean readsData() {
    return isFirst() || model.hasLoss();
  }

  private boolean isFirst() {
    return model.spec().index() == 0;
  }
}
