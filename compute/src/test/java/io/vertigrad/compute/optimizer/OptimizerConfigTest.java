package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

class OptimizerConfigTest {

  @Test
  void shouldBePlainSgdWhenNothingIsSet() {
    OptimizerConfig config = read("{}");

    assertEquals("sgd", config.name());
    assertEquals(0.01, config.learningRate());
    assertEquals(1, config.schedule().factor(10, 10));
  }

  @Test
  void shouldUsePyTorchDefaultsWhenRuleHasItsOwn() {
    assertEquals(1e-10, read("{\"name\":\"adagrad\"}").epsilon());
    assertEquals(0.99, read("{\"name\":\"rmsprop\"}").beta2());
  }

  @Test
  void shouldHaveNoMomentumByDefaultWhenSgd() {
    assertEquals(0, read("{}").momentum());
    assertEquals(0.9, read("{\"name\":\"nesterov\"}").momentum());
    OptimizerConfig config = read("{\"momentum\":0.8,\"dampening\":0.1}");
    assertEquals(0.8, config.momentum());
    assertEquals(0.1, config.dampening());
  }

  @Test
  void shouldRefuseWhenMomentumDoesNotFitTogether() {
    assertEquals(
        "job.json: dampening is only for the optimizer sgd, found with adam: leave it out",
        refusal("{\"name\":\"adam\",\"dampening\":0.1}"));
  }

  @Test
  void shouldCombineScheduleAndWarmUpWhenBothAreSet() {
    OptimizerConfig config =
        read(
            """
            {"schedule": {"name": "step", "milestones": [80, 120], "gamma": 0.1,
             "warmUpUpdates": 100, "warmUpStart": 0.5}}""");

    assertEquals(
        new WarmUp(100, 0.5, new StepSchedule(List.of(80.0, 120.0), 0.1)), config.schedule());
  }

  @Test
  void shouldListTheKnownNamesWhenNameIsUnknown() {
    SettingsException refused =
        assertThrows(SettingsException.class, () -> read("{\"name\":\"nadam\"}"));

    assertEquals(
        "job.json: name is \"nadam\", expected one of sgd, nesterov, adam, adagrad, rmsprop",
        refused.getMessage());
  }

  @Test
  void shouldNameTheKeyWhenUnknownOrOutOfRange() {
    assertEquals(
        "job.json: learningrate is not a known key, did you mean \"learningRate\"?",
        assertThrows(SettingsException.class, () -> read("{\"learningrate\":1}")).getMessage());
    assertThrows(SettingsException.class, () -> read("{\"momentum\":1}"));
    assertEquals(
        "job.json: schedule.milestones is missing, expected a list of epochs such as [80, 120]",
        assertThrows(SettingsException.class, () -> read("{\"schedule\":{\"name\":\"step\"}}"))
            .getMessage());
  }

  private static String refusal(String json) {
    return assertThrows(SettingsException.class, () -> read(json)).getMessage();
  }

  private static OptimizerConfig read(String json) {
    return OptimizerConfig.read(Settings.of("job.json", new JsonObject(json)));
  }
}
