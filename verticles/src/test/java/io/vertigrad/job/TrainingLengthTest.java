package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrainingLengthTest {

  private static final ClassLoader LOADER = TrainingLengthTest.class.getClassLoader();

  /** 391 batches of 128 in 50,000 images, 469 of 64 in each half of 60,000. */
  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "50000; 160; 'totalBatch': 128, 'count': 2; 62560",
        "50000; 160; 'totalBatch': 128, 'count': 4; 62560",
        "50000; 160; 'totalBatch': 128, 'count': 1; 62560",
        "50000; 160; 'totalBatch': 128, 'count': 2, 'dropLast': true; 62400",
        "60000; 1; 'batch': 64, 'count': 2; 469",
        "60000; 1; 'batch': 64, 'count': 4; 235",
        "60000; 1; 'batch': 64, 'count': 1; 938",
        "60000; 0.5; 'batch': 64, 'count': 1; 469",
        "60000; 0.1; 'batch': 60, 'count': 1; 100",
        "60000; 1; 'batch': 128, 'count': 2, 'sampler': 'none'; 235",
        "60000; 2; 'batch': 128, 'count': 2, 'sampler': 'none'; 469",
        "60000; 0.000001; 'batch': 128, 'count': 2; 1",
        "12001; 3; 'batch': 64, 'count': 2; 282",
      })
  void shouldTakeWholePassesOfTheSamplerWhenLengthIsInEpochs(
      long samples, double epochs, String workers, long steps) {
    JobConfig job = read("'epochs': %s, 'workers': {%s}".formatted(epochs, workers), samples);

    assertEquals(steps, job.steps());
  }

  @ParameterizedTest
  @CsvSource({"1, 938", "2, 469", "4, 235"})
  void shouldShareAnEpochAmongReplicasWhenWorkersAreStages(int replicas, long steps) {
    JobConfig job =
        read(
            "'epochs': 1, 'pipeline': {'stages': 2, 'replicas': %d}, 'workers': {'batch': 64}"
                .formatted(replicas),
            60_000);

    assertEquals(steps, job.steps());
  }

  @ParameterizedTest
  @CsvSource({"1, 10000", "2, 5000", "3, 3333", "4, 2500"})
  void shouldShareTotalStepsRoundedDownWhenTheyAreGiven(int workers, long steps) {
    JobConfig job = read("'totalSteps': 10000, 'workers': {'count': %d}".formatted(workers));

    assertTrue(job.isCounted());
    assertEquals(steps, job.steps());
    assertEquals(steps, JobConfig.read("again", job.json()).steps());
  }

  @Test
  void shouldRefuseTotalStepsBelowTheNumberOfWorkers() {
    assertEquals(
        "job.json: totalSteps is 3, expected at least 4: one step for each worker",
        refusal("'totalSteps': 3, 'workers': {'count': 4}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "'steps': 5, 'epochs': 1; epochs is given, and steps",
        "'epochs': 1, 'totalSteps': 5; epochs is given, and totalSteps",
        "'steps': 5, 'totalSteps': 5; totalSteps is given, and steps",
      })
  void shouldNameBothKeysWhenTheLengthIsGivenTwice(String keys, String both) {
    assertEquals(
        "job.json: "
            + both
            + " as well, expected one of steps, totalSteps, epochs: remove the others",
        refusal(keys));
  }

  @ParameterizedTest
  @CsvSource({"0", "-1", "1e9"})
  void shouldNameTheKeyWhenEpochsAreOutOfRange(String epochs) {
    assertTrue(refusal("'epochs': " + epochs).startsWith("job.json: epochs is "));
  }

  @Test
  void shouldNeedTheDataWhenLengthIsInEpochs() {
    JobConfig job = read("'epochs': 2, 'data': {'train': 1000}, 'workers': {'batch': 100}");

    assertFalse(job.isCounted());
    assertEquals(
        "job.json: 2 epochs, but the training samples were not counted",
        assertThrows(IllegalStateException.class, job::steps).getMessage());
    assertEquals(10, job.counted(LOADER).steps());
  }

  @Test
  void shouldKeepEpochsAndStepsInTheFileWhenTheDataIsCounted() {
    JobConfig job =
        read("'epochs': 2, 'data': {'train': 1000}, 'workers': {'batch': 100}").counted(LOADER);

    JsonObject json = job.json();

    assertEquals(2, json.getInteger("epochs"));
    assertFalse(json.containsKey("steps"));
    assertEquals(new JsonObject().put("trainingSamples", 1000L), json.getJsonObject("resolved"));
    assertEquals(10, JobConfig.read("again", json).steps());
  }

  @Test
  void shouldCountStepsAgainWhenTheDataChange() {
    JsonObject json =
        read("'epochs': 2, 'data': {'train': 1000}, 'workers': {'batch': 100}")
            .counted(LOADER)
            .json();
    json.getJsonObject("data").put("train", 500);
    json.getJsonObject("workers").put("count", 1);

    assertEquals(10, JobConfig.read("again", json).counted(LOADER).steps());
  }

  @Test
  void shouldNotTouchTheDataWhenLengthIsInSteps() {
    JobConfig job = read("'steps': 7, 'data': {'name': 'mnist', 'directory': '/nowhere'}");

    assertEquals(7, job.counted(LOADER).steps());
    assertFalse(job.json().containsKey("resolved"));
  }

  private static String refusal(String keys) {
    return assertThrows(SettingsException.class, () -> read(keys)).getMessage();
  }

  private static JobConfig read(String keys, long samples) {
    return read("%s, 'resolved': {'trainingSamples': %d}".formatted(keys, samples));
  }

  private static JobConfig read(String keys) {
    return JobConfig.read("job.json", new JsonObject("{%s}".formatted(keys.replace('\'', '"'))));
  }
}
