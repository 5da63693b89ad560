package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import java.util.List;

/**
 * How a job's model is spread over stages; every member derives the same.
 *
 * @param layout the whole model's arrays
 * @param stages all stages, in order
 * @param partitions of the whole model; none is of two stages, and each one's shard is its stage
 */
record StagePlan(ParameterLayout layout, List<StageSpec> stages, PartitionPlan partitions) {

  public StagePlan {
    stages = List.copyOf(stages);
  }

  /**
   * Cuts a job's model.
   *
   * @throws IllegalArgumentException with the reason when it cannot be cut so
   */
  public static SplitModel split(JobConfig job, ModelConfig model) {
    PipelineConfig pipeline = job.pipeline().orElseThrow();
    if (pipeline.undecided()) {
      throw new IllegalArgumentException(
          "%s: pipeline.balance is \"time\" and nothing was measured: write the cuts that train"
                  .formatted(job.origin())
              + " printed into pipeline.cuts, or use the run's job.json");
    }
    return Engine.named(job.engine()).split(model, pipeline.split(job.workers().batch()));
  }

  /** The plan that follows from a cut. */
  public static StagePlan of(JobConfig job, SplitModel split) {
    List<ParameterLayout> layouts = split.stages().stream().map(StageSpec::layout).toList();
    return new StagePlan(
        split.layout(),
        split.stages(),
        PartitionPlan.ofStages(split.layout(), layouts, job.exchange().partitionElements()));
  }

  /** Equal for equal layouts and cuts; carried by every frame between stages. */
  public long hash() {
    return Addresses.hash(
        Long.toHexString(layout.hash()) + stages.stream().map(StageSpec::last).toList());
  }

  /** First trainable element of a stage in the whole exchange vector. */
  int firstTrainable(int stage) {
    return stages.stream().limit(stage).mapToInt(spec -> spec.layout().trainable()).sum();
  }

  /** First statistic of a stage in the whole exchange vector. */
  int firstStatistic(int stage) {
    return layout.trainable()
        + stages.stream().limit(stage).mapToInt(spec -> spec.layout().statistics()).sum();
  }
}
