package io.vertigrad.training;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.pipeline.ReplicaRule;
import io.vertigrad.internal.pipeline.Schedule;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A job with the cuts of its pipeline decided before it starts, so that every member cuts the model
 * in the same way.
 *
 * @param job the job, with {@code pipeline.cuts} if it has a pipeline
 * @param plan lines that describe the plan to the user; empty without a pipeline
 */
public record PipelinePlan(JobConfig job, List<String> plan) {

  /**
   * Decides the cuts, by measuring if the job asks for that.
   *
   * @param asked the job as in its file
   * @return the job with the layers to cut at, and one line of text for each stage and the schedule
   * @throws SettingsException when the model cannot be cut as configured; the message names the job
   *     file
   */
  public static PipelinePlan of(JobConfig asked) {
    if (asked.pipeline().isEmpty()) {
      return new PipelinePlan(asked, List.of());
    }
    PipelineConfig pipeline = asked.pipeline().get();
    SplitModel split = split(asked, pipeline);
    JsonObject json = asked.json().copy();
    json.getJsonObject("pipeline").put("cuts", new JsonArray(split.cuts()));
    List<String> plan = new ArrayList<>();
    split.stages().forEach(stage -> plan.add(stage.toString()));
    plan.add(schedule(pipeline));
    return new PipelinePlan(JobConfig.read(asked.origin(), json), plan);
  }

  private static SplitModel split(JobConfig job, PipelineConfig pipeline) {
    Dataset data =
        DatasetProvider.open(job.data(), Split.TEST, PipelinePlan.class.getClassLoader());
    if (data instanceof StreamDataset) {
      throw job.settings()
          .refuse(
              "pipeline",
              "is given, but the data set '%s' is read once, which stages cannot; expected workers with whole models"
                  .formatted(job.data().name()));
    }
    try {
      ReplicaRule.of(job);
      return Engine.named(job.engine())
          .split(job.modelOn(data), pipeline.split(job.workers().batch()));
    } catch (IllegalArgumentException e) {
      String origin = job.origin() + ": ";
      String message = e.getMessage();
      throw new SettingsException(message.startsWith(origin) ? message : origin + message, e);
    }
  }

  private static String schedule(PipelineConfig pipeline) {
    Schedule schedule =
        Schedule.named(pipeline.schedule(), pipeline.stages(), pipeline.microBatches());
    Schedule.Cost cost = schedule.cost(1, 1);
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
