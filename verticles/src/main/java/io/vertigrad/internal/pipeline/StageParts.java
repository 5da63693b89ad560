package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.GradientSource;
import io.vertigrad.internal.worker.Incarnation;
import io.vertigrad.internal.worker.ParameterExchange;
import io.vertigrad.internal.worker.StrategyExchange;
import io.vertigrad.internal.worker.TrainingLoop;
import io.vertigrad.job.PipelineConfig;
import java.util.function.Supplier;

/** The parts of a stage member: the stage of its rank, and the batches of its replica. */
final class StageParts implements TrainingLoop.Parts {

  private final StageContext setting;
  private final StrategyExchange.Environment surroundings;
  private final BatchOpener data;
  private final Supplier<SplitModel> splitting;
  private final PipelineConfig pipeline;
  private SplitModel split;
  private StageReplica replica;
  private StepBatches batches;
  private StageGroup group;

  /**
   * Creates parts, none of which is built yet.
   *
   * @param split the cut model; the reference is dropped once the stage is built
   * @param splitting cuts the model again if the member takes over another stage
   * @param data opens the batches of a replica
   */
  StageParts(
      StageContext setting,
      StrategyExchange.Environment surroundings,
      SplitModel split,
      Supplier<SplitModel> splitting,
      BatchOpener data) {
    this.setting = setting;
    this.surroundings = surroundings;
    this.split = split;
    this.splitting = splitting;
    this.data = data;
    this.pipeline = setting.job().pipeline().orElseThrow();
  }

  @Override
  public GradientSource source(Incarnation self) {
    SenderIdentity identity = self.identity();
    int rank = identity.rank();
    Thread.currentThread()
        .setName("%s of %s".formatted(pipeline.name(rank), setting.job().addresses().job()));
    provide(pipeline.stageOf(rank));
    closeBatches();
    int of = pipeline.replicaOf(rank);
    batches = new StepBatches(first -> data.open(of, first), pipeline, rank, setting.sizes());
    group =
        new StageGroup(
            setting.vertx(),
            setting.job(),
            setting.plan().hash(),
            identity,
            setting.patience(),
            setting.track(),
            self.stop());
    return new StageGradients(
        setting,
        replica,
        group.neighbours(setting.job(), setting.nanoClock()),
        batches,
        pipeline.stageOf(rank));
  }

  @Override
  public ParameterExchange exchange(Incarnation self) {
    return new StrategyExchange(
        surroundings, self, replica, new StageDuties(setting, replica, self.identity(), group));
  }

  @Override
  public long tested() {
    return setting.tested().get();
  }

  @Override
  public void close() {
    closeBatches();
    closeStage();
    setting.checkpoints().close();
  }

  /** Builds the stage, unless the member already has it. */
  private void provide(int stage) {
    if (replica != null && replica.model().spec().index() == stage) {
      return;
    }
    closeStage();
    SplitModel whole = split == null ? splitting.get() : split;
    replica =
        new StageReplica(
            InitialParameters.into(whole.stage(stage), whole.layout(), setting.job()),
            setting.job(),
            setting.plan(),
            setting.trainingSamples());
    split = null;
    // Only the garbage collector frees the native memory of the whole model's parameters.
    System.gc();
  }

  private void closeBatches() {
    if (batches != null) {
      batches.close();
      batches = null;
    }
  }

  private void closeStage() {
    if (replica != null) {
      replica.close();
      replica = null;
    }
  }
}
