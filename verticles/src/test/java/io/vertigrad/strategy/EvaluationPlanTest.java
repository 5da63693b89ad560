package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class EvaluationPlanTest {

  private static final int SAMPLES = 1_000;

  /** 1,000 samples for two workers are 8 batches of 64 each, the last one smaller. */
  @ParameterizedTest
  @CsvSource({
    "sync, 25, 'every: 10', 10 20 25",
    "async, 12, 'every: 10', 10 20 24",
    "sync, 25, 'every: 10, blocking: true', 1 11 21",
    "async, 12, 'every: 10, blocking: true', 1 11 21",
    "dpsgd, 21, 'every: 10, blocking: true', 1 11 21",
    "sync, 25, 'every: 1000', 25",
    "sync, 25, 'every: 1000, blocking: true', 1",
    "sync, 20, 'everyEpochs: 1', 8 16 20",
    "async, 20, 'everyEpochs: 1', 16 32 40",
    "sync, 20, 'everyEpochs: 1, blocking: true', 8 16",
    "dpsgd, 24, 'everyEpochs: 1, blocking: true', 8 16 24",
    "sync, 20, 'everyEpochs: 0.3', 3 5 8 10 12 15 17 20",
  })
  void shouldBeDueAtTheListedVersions(String strategy, long steps, String evaluator, String due) {
    EvaluationPlan plan = plan(strategy, steps, evaluator);

    List<String> found = new ArrayList<>();
    for (long v = plan.next(0); v != EvaluationPlan.NONE; v = plan.next(v)) {
      found.add(String.valueOf(v));
      assertTrue(plan.isDue(v));
      assertFalse(plan.isDue(v - 1) && !found.contains(String.valueOf(v - 1)));
    }

    assertEquals(due, String.join(" ", found));
    assertFalse(plan.isDue(0));
  }

  @Test
  void shouldDelayUpdatesOnlyWhenTrainingWaitsForTests() {
    assertEquals(EvaluationPlan.NONE, plan("sync", 20, "every: 10").firstHold());
    assertEquals(1, plan("sync", 20, "every: 10, blocking: true").firstHold());
    assertEquals(8, plan("sync", 20, "everyEpochs: 1, blocking: true").firstHold());
  }

  @ParameterizedTest
  @CsvSource({
    "'every: 10, everyEpochs: 1', evaluator.everyEpochs is given",
    "'count: 0, blocking: true', evaluator.blocking is true",
    "'everyEpochs: 0', evaluator.everyEpochs",
  })
  void shouldRefuseContradictorySettings(String evaluator, String why) {
    SettingsException refused =
        assertThrows(SettingsException.class, () -> plan("sync", 20, evaluator));

    assertTrue(refused.getMessage().contains(why), refused.getMessage());
  }

  @Test
  void shouldRefuseToWaitForTestsWhereStagesTestBetweenSteps() {
    JsonObject json =
        new JsonObject()
            .put("pipeline", new JsonObject().put("stages", 2))
            .put("evaluator", new JsonObject().put("blocking", true));

    SettingsException refused =
        assertThrows(SettingsException.class, () -> JobConfig.read("job.json", json));

    assertTrue(refused.getMessage().contains("evaluator.blocking"), refused.getMessage());
  }

  private static EvaluationPlan plan(String strategy, long steps, String evaluator) {
    JsonObject section = new JsonObject();
    for (String entry : evaluator.split(", ")) {
      String[] pair = entry.split(": ");
      section.put(pair[0], new JsonObject("{\"v\":" + pair[1] + "}").getValue("v"));
    }
    JsonObject json =
        new JsonObject()
            .put("steps", steps)
            .put("strategy", new JsonObject().put("name", strategy))
            .put("workers", new JsonObject().put("batch", 64))
            .put("resolved", new JsonObject().put("trainingSamples", SAMPLES))
            .put("evaluator", section);
    JobConfig job = JobConfig.read("job.json", json);
    return EvaluationPlan.of(
        job, StrategyProviders.configure(job, EvaluationPlanTest.class.getClassLoader()).traits());
  }
}
