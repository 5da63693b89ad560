package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.optimizer.CosineSchedule;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Two workers with batches of 64 on 12,000 samples, unless a test sets other values. */
class ScheduleCheckTest {

  private static final ClassLoader LOADER = ScheduleCheckTest.class.getClassLoader();

  /** The same double as 6.4 written out, so that every factor is the same, bit for bit. */
  @Test
  void shouldSpreadTheCosineOverTheWholeRunWhenItHasNoLength() {
    JobConfig job = counted("'steps': 600", "'name': 'cosine'");

    assertEquals(new CosineSchedule(6.4, 0), job.optimizer().schedule());
    assertEquals(List.of(), ScheduleCheck.warnings(job, 600));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "'steps': 2500; 26.666666666666668",
        "'totalSteps': 1200; 6.4",
        "'epochs': 3; 3",
        "'epochs': 0.5; 0.5",
      })
  void shouldFollowTheRunWhenItsLengthChanges(String length, double epochs) {
    assertEquals(
        new CosineSchedule(epochs, 0), counted(length, "'name': 'cosine'").optimizer().schedule());
  }

  @Test
  void shouldNeedTheDataWhenTheCosineHasNoLength() {
    JobConfig job = read("'steps': 600", "'name': 'cosine'");

    assertEquals(600, job.steps());
    assertFalse(job.isCounted());
    assertThrows(IllegalStateException.class, () -> job.optimizer().schedule().factor(0, 0));
  }

  @Test
  void shouldReportTheStepsWithoutARateWhenTheCosineEndsEarly() {
    JobConfig job = counted("'steps': 2500", "'name': 'cosine', 'epochs': 6.4");

    assertEquals(
        List.of(
            "optimizer.schedule.epochs is 6.40, but the run lasts 26.7 epochs: its last 76 % train"
                + " at 0 times optimizer.learningRate; leave the key out to spread the cosine over"
                + " the whole run"),
        ScheduleCheck.warnings(job, 2_500));
  }

  @Test
  void shouldNameTheMilestonesWhenTheRunEndsBefore() {
    JobConfig job =
        counted("'epochs': 100", "'name': 'step', 'milestones': [80, 120], 'gamma': 0.1");

    assertEquals(
        List.of(
            "optimizer.schedule.milestones are [80, 120], but the run lasts 100 epochs: the rate"
                + " drops 1 times instead of 2; train longer, or give earlier milestones"),
        ScheduleCheck.warnings(job, 9_400));
  }

  @Test
  void shouldReportAWarmUpThatIsLongerThanTheRun() {
    JobConfig job = counted("'steps': 600", "'name': 'cosine', 'warmUpUpdates': 700");

    assertEquals(
        List.of(
            "optimizer.schedule.warmUpUpdates is 700, but the run has 600 updates: the rate never"
                + " gets to optimizer.learningRate; train longer, or give fewer"),
        ScheduleCheck.warnings(job, 600));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'name': 'cosine', 'epochs': 6.4",
        "'name': 'cosine', 'epochs': 100",
        "'name': 'step', 'milestones': [2, 6.3]",
        "'name': 'exponential'",
        "'name': 'constant', 'warmUpUpdates': 100",
      })
  void shouldReportNothingWhenTheyFit(String schedule) {
    assertEquals(List.of(), ScheduleCheck.warnings(counted("'steps': 600", schedule), 600));
  }

  private static JobConfig counted(String length, String schedule) {
    return read(length, schedule).counted(LOADER);
  }

  private static JobConfig read(String length, String schedule) {
    String json =
        "{%s, 'workers': {'count': 2, 'batch': 64}, 'optimizer': {'schedule': {%s}}}"
            .formatted(length, schedule);
    return JobConfig.read("job.json", new JsonObject(json.replace('\'', '"')));
  }
}
