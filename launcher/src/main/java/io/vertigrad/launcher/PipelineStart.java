package io.vertigrad.launcher;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.internal.pipeline.ReplicaRule;
import io.vertigrad.internal.pipeline.Schedule;
import io.vertigrad.internal.pipeline.ScheduleCost;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A job before it starts, with the cuts of its pipeline decided, so that every member cuts alike.
 *
 * @param job with {@code pipeline.cuts}, if it has a pipeline
 * @param plan what is said about it; empty without a pipeline
 */
record PipelineStart(JobConfig job, List<String> plan) {

  /**
   * Decides the cuts, by measuring where the job wants that.
   *
   * @throws InputException with the reason when the model cannot be cut so
   */
  static PipelineStart of(JobConfig asked) {
    if (asked.pipeline().isEmpty()) {
      return new PipelineStart(asked, List.of());
    }
    PipelineConfig pipeline = asked.pipeline().get();
    SplitModel split = split(asked, pipeline);
    JsonObject json = asked.json().copy();
    json.getJsonObject("pipeline").put("cuts", new JsonArray(split.cuts()));
    List<String> plan = new ArrayList<>();
    split.stages().forEach(stage -> plan.add(stage.toString()));
    plan.add(schedule(pipeline));
    return new PipelineStart(JobConfig.read(asked.origin(), json), plan);
  }

  private static SplitModel split(JobConfig job, PipelineConfig pipeline) {
    Dataset data =
        DatasetProvider.open(job.data(), Split.TEST, PipelineStart.class.getClassLoader());
    try {
      ReplicaRule.of(job);
      return Engine.named(job.engine())
          .split(job.modelOn(data), pipeline.split(job.workers().batch()));
    } catch (IllegalArgumentException e) {
      String origin = job.origin() + ": ";
      String message = e.getMessage();
      throw new InputException(message.startsWith(origin) ? message : origin + message, e);
    }
  }

  private static String schedule(PipelineConfig pipeline) {
    Schedule schedule =
        Schedule.named(pipeline.schedule(), pipeline.stages(), pipeline.microBatches());
    ScheduleCost cost = ScheduleCost.of(schedule, 1, 1);
    return String.format(
        Locale.ROOT,
        "schedule %s, %d micro-batches, %d replica%s: bubble %.1f %% if all stages take equally"
            + " long; inputs kept by stage: %s",
        pipeline.schedule(),
        pipeline.microBatches(),
        pipeline.replicas(),
        pipeline.replicas() == 1 ? "" : "s",
        100 * cost.bubble(),
        cost.peaks());
  }
}
