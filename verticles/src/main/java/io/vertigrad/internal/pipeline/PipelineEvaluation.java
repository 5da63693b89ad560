package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
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
  private static final ClassLoader LOADER = PipelineEvaluation.class.getClassLoader();

  private final StageContext context;
  private final EvaluationPlan plan;
  private final StageModel model;
  private final StageNeighbours neighbours;
  private StageEvaluation test;
  private SequentialBatches part;
  private SequentialBatches whole;

  /**
   * Creates the tests of one incarnation of a stage.
   *
   * @param neighbours a separate connection, so that tests do not count as waiting time of a step
   */
  PipelineEvaluation(StageContext context, StageModel model, StageNeighbours neighbours) {
    this.context = context;
    this.plan = EvaluationPlan.of(context.job(), context.traits());
    this.model = model;
    this.neighbours = neighbours;
  }

  /** Tests this version if a test is due; blocks during the test. */
  void after(long version) {
    boolean last = version >= context.lastVersion();
    if (version == 0 || last || plan.isDue(version)) {
      open();
      report(version, test(version, 0, part), false);
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
    report(version, test(version, test.batches(part.samples()), whole), true);
  }

  private Score test(long version, int before, SequentialBatches samples) {
    try {
      return test.run(version, before, samples);
    } catch (RuntimeException | Error thrown) {
      throw JobModel.failure(context.job().model().name(), "a test", thrown);
    }
  }

  private void open() {
    if (part == null) {
      JobConfig job = context.job();
      Dataset data = context.testSet().get();
      int batch = batch(job);
      test =
          new StageEvaluation(
              model,
              neighbours,
              batch,
              job.pipeline().orElseThrow().microBatches(),
              job.evaluator().topK(),
              data.targets().kind() == Targets.Kind.VALUES
                  ? DatasetProvider.targetColumns(job.data().fitted(data.fitted()), LOADER)
                  : List.of(),
              context.testedSamples()::addAndGet);
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
  private void report(long version, Score score, boolean all) {
    if (!model.hasLoss()) {
      return;
    }
    int topK = context.job().evaluator().topK();
    context.events().accept(Evaluated.of(version, score, topK, all, ""));
    LOG.info(
        String.format(
            Locale.ROOT,
            "version %d: %s, loss %.4f (%d test samples%s)",
            version,
            score.text(""),
            score.loss(),
            score.samples(),
            all ? ", all of them" : ""));
  }

  /**
   * One stage's part of a test: batches go forward through all stages in inference mode, so that
   * neither parameters nor statistics change. The last stage computes the score.
   *
   * <p>A stage is at most {@value #MAX_BATCHES_AHEAD} batches ahead of the next one, which
   * acknowledges each batch.
   */
  static final class StageEvaluation {

    private static final int MAX_BATCHES_AHEAD = 4;
    private static final float[] ACKNOWLEDGEMENT = {1};

    private final StageModel model;
    private final StageNeighbours neighbours;
    private final int batch;
    private final int firstIndex;
    private final int topK;
    private final List<TargetColumn> values;
    private final LongConsumer progress;

    /**
     * Creates the test of a stage.
     *
     * @param batch most samples of a test batch
     * @param firstIndex number of the first test batch of a step; the step's micro-batches have the
     *     numbers below
     * @param topK also counts samples whose class is among this many most probable ones; 0 for none
     * @param values real values by name, with their units; empty if there are none
     * @param progress called with the number of samples that went through, batch by batch
     */
    StageEvaluation(
        StageModel model,
        StageNeighbours neighbours,
        int batch,
        int firstIndex,
        int topK,
        List<TargetColumn> values,
        LongConsumer progress) {
      this.model = model;
      this.neighbours = neighbours;
      this.batch = batch;
      this.firstIndex = firstIndex;
      this.topK = topK;
      this.values = values;
      this.progress = progress;
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
          score = score.plus(score(own.with(input, model.spec().input())));
        } else {
          FloatBuffer output = model.infer(input, count);
          if (i >= MAX_BATCHES_AHEAD) {
            awaitAcknowledgement(step, index + i - MAX_BATCHES_AHEAD);
          }
          neighbours.send(Direction.FORWARD, step, index + i, output);
        }
        progress.accept(count);
      }
      for (int i = Math.max(0, batches - MAX_BATCHES_AHEAD); i < batches && !model.hasLoss(); i++) {
        awaitAcknowledgement(step, index + i);
      }
      return score;
    }

    private Score score(Batch of) {
      Optional<float[]> outputs = values.isEmpty() ? Optional.empty() : model.values(of);
      return outputs
          .map(found -> TargetColumn.score(values, of.count(), found, of.targets()))
          .orElseGet(() -> model.score(of, topK));
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
      neighbours.send(Direction.BACKWARD, step, index, FloatBuffer.wrap(ACKNOWLEDGEMENT));
      return input;
    }

    private void awaitAcknowledgement(long step, int index) {
      neighbours.receive(Direction.BACKWARD, step, index, ACKNOWLEDGEMENT.length);
    }

    /**
     * Returns true in the first stage, which reads features, and in the last, which reads labels.
     */
    private boolean readsData() {
      return isFirst() || model.hasLoss();
    }

    private boolean isFirst() {
      return model.spec().index() == 0;
    }
  }
}
