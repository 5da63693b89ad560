package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.internal.worker.GradientSource;
import io.vertigrad.job.PipelineConfig;

/** Computes the gradients of one stage: runs all actions of a step without changing parameters. */
final class StageGradients implements GradientSource {

  private final StageContext setting;
  private final StageReplica replica;
  private final StageNeighbours neighbours;
  private final StepBatches batches;
  private final int stage;
  private long movedNanos;
  private long waitedNanos;

  /**
   * Creates the gradient source of one incarnation.
   *
   * @param stage index of the stage, from 0
   */
  StageGradients(
      StageContext setting,
      StageReplica replica,
      StageNeighbours neighbours,
      StepBatches batches,
      int stage) {
    this.setting = setting;
    this.replica = replica;
    this.neighbours = neighbours;
    this.batches = batches;
    this.stage = stage;
  }

  @Override
  public Computed compute(long version, long step) {
    long started = setting.nanoClock().getAsLong();
    Batch batch = batches.of(version);
    long ready = setting.nanoClock().getAsLong();
    PipelineConfig pipeline = setting.job().pipeline().orElseThrow();
    int samples = setting.sizes().of(version);
    int parts = Math.min(pipeline.microBatches(), samples);
    StageStep work =
        new StageStep(
            replica.model(),
            neighbours,
            setting.nanoClock(),
            setting.track(),
            version + 1,
            samples,
            parts,
            batch,
            replica.gradient());
    Schedule schedule = Schedule.named(pipeline.schedule(), pipeline.stages(), parts);
    work.run(schedule.stages().get(stage));
    long moved = neighbours.movedNanos() - movedNanos;
    long waited = neighbours.waitedNanos() - waitedNanos;
    movedNanos += moved;
    waitedNanos += waited;
    return new Computed(
        setting.sizes().epoch(version),
        samples,
        replica.model().hasLoss() ? samples : 0,
        work.loss(),
        GradientSource.share(work.correct(), replica.model().answers()),
        ready - started + waited,
        work.computedNanos(),
        moved);
  }
}
