package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import java.util.List;

/**
 * The division of a job's model into stages; every member derives the same plan.
 *
 * @param layout the whole model's arrays
 * @param stages all stages, in order
 * @param partitions partitions of the whole model; each lies within one stage, and its shard is
 *     that stage
 */
record StagePlan(ParameterLayout layout, List<StageSpec> stages, PartitionPlan partitions) {

  public StagePlan {
    stages = List.copyOf(stages);
  }

  /**
   * Cuts a job's model into stages.
   *
   * @throws IllegalArgumentException when the model cannot be cut as configured, with the reason
   */
  public static SplitModel split(JobConfig job, ModelConfig model) {
    PipelineConfig pipeline = job.pipeline().orElseThrow();
    if (pipeline.undecided()) {
      throw new IllegalArgumentException(
          "%s: pipeline.balance is \"time\" and nothing was measured: write the cuts that train"
                  .formatted(job.origin())
              + " printed into pipeline.cuts, or use the run's job.json");
    }
    Engine engine = Engine.named(job.engine());
    return JobModel.create(
        model.name(), () -> engine.split(model, pipeline.split(job.workers().batch())));
  }

  /** Returns the plan that follows from a cut. */
  public static StagePlan of(JobConfig job, SplitModel split) {
    List<ParameterLayout> layouts = split.stages().stream().map(StageSpec::layout).toList();
    return new StagePlan(
        split.layout(),
        split.stages(),
        PartitionPlan.ofStages(split.layout(), layouts, job.exchange().partitionElements()));
  }

  /**
   * Returns a hash that is equal for equal layouts and cuts; every frame between stages carries it.
   */
  public long hash() {
    return Addresses.hash(
        Long.toHexString(layout.hash()) + stages.stream().map(StageSpec::last).toList());
  }

  /** Returns the index of a stage's first trainable element in the whole exchange vector. */
  int firstTrainable(int stage) {
    return stages.stream().limit(stage).mapToInt(spec -> spec.layout().trainable()).sum();
  }

  /** Returns the index of a stage's first statistic in the whole exchange vector. */
  int firstStatistic(int stage) {
    return layout.trainable()
        + stages.stream().limit(stage).mapToInt(spec -> spec.layout().statistics()).sum();
  }
}
