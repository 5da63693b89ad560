package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.Locale;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tests that the stages of replica 0 run on their own model between two steps. They use part of
 * the test set before the first step and at intervals, and also the whole test set at the end. The
 * last stage reports the result.
 *
 * <p>All stages test after the same steps, so that a test never mixes versions. Used on the stage's
 * thread.
 */
final class PipelineEvaluation {

  private static final Logger LOG = LoggerFactory.getLogger(PipelineEvaluation.class);

  private final StageContext setting;
  private final EvaluationPlan plan;
  private final StageModel model;
  private final StageEvaluation test;
  private SequentialBatches part;
  private SequentialBatches whole;

  /**
   * Creates the tests of one incarnation of a stage.
   *
   * @param neighbours a separate connection, so that tests do not count as waiting time of a step
   */
  PipelineEvaluation(StageContext setting, StageModel model, StageNeighbours neighbours) {
    this.setting = setting;
    this.plan = EvaluationPlan.of(setting.job(), setting.strategy());
    this.model = model;
    int microBatches = setting.job().pipeline().orElseThrow().microBatches();
    this.test =
        new StageEvaluation(
            model,
            neighbours,
            batch(setting.job()),
            microBatches,
            setting.job().evaluator().topK(),
            setting.tested()::addAndGet);
  }

  /** Tests this version if a test is due; blocks during the test. */
  void after(long version) {
    boolean last = version >= setting.lastVersion();
    if (version == 0 || last || plan.isDue(version)) {
      open();
      tell(version, test.run(version, 0, part), false);
      if (last) {
        testWhole(version);
      }
    }
  }

  /**
   * Tests the version at which the job ends early on the whole test set; blocks during the test.
   */
  void end(long version) {
    open();
    testWhole(version);
  }

  private void testWhole(long version) {
    tell(version, test.run(version, test.batches(part.samples()), whole), true);
  }

  private void open() {
    if (part == null) {
      JobConfig job = setting.job();
      Dataset data = setting.testSet().get();
      int batch = batch(job);
      part = SequentialBatches.subset(data, batch, job.evaluator().samples(), job.seed());
      whole = SequentialBatches.all(data, batch);
    }
  }

  /**
   * Returns the size of a test batch: no more than a micro-batch, so that a test needs no more
   * memory than a step.
   */
  private static int batch(JobConfig job) {
    int parts = Math.min(job.pipeline().orElseThrow().microBatches(), job.workers().batch());
    return (job.workers().batch() + parts - 1) / parts;
  }

  /**
   * Reports a score, in the last stage only. The event has no hash, because no stage has all
   * parameters.
   */
  private void tell(long version, Score score, boolean all) {
    if (!model.hasLoss()) {
      return;
    }
    int topK = setting.job().evaluator().topK();
    setting.events().accept(Evaluated.of(version, score, topK, all, ""));
    LOG.info(
        String.format(
            Locale.ROOT,
            "version %d: %s, loss %.4f (%d test samples%s)",
            version,
            score.metric().text(score.loss(), score.accuracy(), ""),
            score.loss(),
            score.samples(),
            all ? ", all of them" : ""));
  }

  /**
   * One stage's part of a test: batches go forward through all stages in inference mode, so that
   * neither parameters nor statistics change. The last stage computes the score.
   *
   * <p>A stage is at most {@value #AHEAD} batches ahead of the next one, which acknowledges each
   * batch.
   */
  static final class StageEvaluation {

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
}
