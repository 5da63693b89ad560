package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrainingPauseTest {

  private static JobConfig job(String strategy) {
    JsonObject json =
        JsonObject.of(
            "steps",
            5_000,
            "data",
            JsonObject.of("name", "digits", "train", 1_999),
            "workers",
            JsonObject.of("count", 3, "batch", 7),
            "strategy",
            JsonObject.of("name", strategy));
    return JobCheck.counted(JobConfig.read("test", json));
  }

  private static TrainingPause at(long steps) {
    return new TrainingPause(steps, Promise.<Void>promise().future());
  }

  @ParameterizedTest
  @CsvSource({"sync, 1", "async, 3", "ssp, 3", "allreduce, 1", "local, 1"})
  void shouldTestTheVersionOfThePauseFirstWhenTheJobIsPausedAtAnyStep(
      String strategy, int versionsPerStep) {
    JobConfig job = job(strategy);
    for (long steps = 1; steps < job.steps(); steps = steps * 5 / 4 + 1) {
      TrainingPause pause = at(steps);

      JobConfig tested = pause.testedThere(job);

      EvaluationPlan plan =
          EvaluationPlan.of(
              tested,
              StrategyProviders.configure(tested.strategy(), getClass().getClassLoader()).traits());
      assertEquals(steps * versionsPerStep, pause.version(job));
      assertEquals(pause.version(job), plan.firstHold(), "after step " + steps);
      assertEquals(job.steps(), tested.steps());
    }
  }

  @Test
  void shouldChangeNothingWhenTheJobEndsBefore() {
    JobConfig job = job("sync");

    assertSame(job, at(5_000).testedThere(job));
    assertEquals(Long.MAX_VALUE, at(5_000).version(job));
  }
}
