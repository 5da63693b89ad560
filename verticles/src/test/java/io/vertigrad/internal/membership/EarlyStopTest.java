package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.membership.CoordinatorState.EarlyStop;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class EarlyStopTest {

  @Test
  void shouldEndWhenTheAccuracyIsReached() {
    EarlyStop stop = stop("{'accuracy': 97.5, 'loss': 0.01}");

    assertEquals(Optional.empty(), stop.checkTest(test(97.49, 0.2)));
    assertEquals(
        Optional.of(new EarlyEnd("accuracy", 97.5, 97.5, 30)), stop.checkTest(test(97.5, 0.2)));
  }

  @Test
  void shouldEndWhenTheLossIsAsLow() {
    EarlyStop stop = stop("{'loss': 0.25}");

    assertEquals(Optional.empty(), stop.checkTest(test(100, 0.26)));
    assertEquals(Optional.empty(), stop.checkTest(test(100, Double.NaN)));
    assertEquals(Optional.of(new EarlyEnd("loss", 0.25, 0.25, 30)), stop.checkTest(test(10, 0.25)));
  }

  @Test
  void shouldCountMinutesOfTrainingOnly() {
    EarlyStop stop = stop("{'minutes': 1.5}");

    assertEquals(Optional.empty(), stop.checkTrainingTime(600_000, false, 0));
    assertEquals(Optional.empty(), stop.checkTrainingTime(660_000, true, 100));
    assertEquals(Optional.empty(), stop.checkTrainingTime(900_000, false, 100));
    assertEquals(Optional.empty(), stop.checkTrainingTime(929_999, true, 149));
    assertEquals(
        Optional.of(new EarlyEnd("minutes", 1.5, 1.5, 150)),
        stop.checkTrainingTime(930_000, true, 150));
  }

  @Test
  void shouldNotEndWhenNothingWasAskedFor() {
    EarlyStop stop = stop("{}");

    assertEquals(Optional.empty(), stop.checkTest(test(100, 0)));
    assertEquals(Optional.empty(), stop.checkTrainingTime(Long.MAX_VALUE, true, 1));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'stop': {'accuracy': 0}| stop.accuracy is 0, expected a number from 1.0E-6 to 100.0",
        "'stop': {'accuracy': 101}| stop.accuracy is 101, expected a number from 1.0E-6 to 100.0",
        "'stop': {'minutes': -1}| stop.minutes is -1, expected a number from 1.0E-6 to 1.0E7",
        "'stop': {'acuracy': 9}| stop.acuracy is not a known key, did you mean \"accuracy\"?",
        "'stop': {'loss': 1}, 'evaluator': {'count': 0}| stop.loss is given, but evaluator.count is"
            + " 0, so nobody tests; expected an evaluator, or stop.minutes",
      })
  void shouldNameTheKeyWhenItMakesNoSense(String keys, String message) {
    String refusal = assertThrows(SettingsException.class, () -> read(keys)).getMessage();

    assertEquals("job.json: " + message, refusal);
  }

  private static Evaluated test(double accuracy, double loss) {
    return new Evaluated(0, 30, 1_152, loss, accuracy, false, "");
  }

  private static EarlyStop stop(String section) {
    return new EarlyStop(read("'stop': " + section).stop(), 0);
  }

  private static JobConfig read(String keys) {
    return JobConfig.read("job.json", new JsonObject("{%s}".formatted(keys.replace('\'', '"'))));
  }
}
