package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.Locale;
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
}
