package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.run.RunView;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the log with epochs of 10 rounds of two workers. */
final class EpochLogTest {

  @TempDir private Path folder;
  private final List<String> problems = new ArrayList<>();
  private final RunView view = new RunView();
  private Path file;
  private EpochLog log;

  @BeforeEach
  void begin() {
    file = folder.resolve("epochs.log");
    log = log("{'everyEpochs': 1}");
  }

  @Test
  void shouldWriteALineWhenTheLastWorkerAndTheTestAreThere() throws IOException {
    trained(0, 1, 2.0, 0.5);
    tested(10, 50);
    assertEquals(List.of(), lines());

    trained(1, 1, 1.0, 0.75);

    assertEquals(List.of("0 0.750 1.5000 50.00"), lines());
  }

  @Test
  void shouldAverageTheWorkersMeansWithoutWeights() throws IOException {
    record(new EpochTrained(0, 0, 0, 1, 10, 900, 2.0, 50, 1));
    record(new EpochTrained(0, 1, 0, 1, 10, 100, 1.0, 50, 1));
    tested(10, 50);

    assertEquals(List.of("0 1.000 1.5000 50.00"), lines());
  }

  @Test
  void shouldSumTheSecondsOfTheSlowest() throws IOException {
    for (int epoch = 1; epoch <= 2; epoch++) {
      trained(0, epoch, 1, epoch);
      trained(1, epoch, 1, 3 - epoch);
      tested(10 * epoch, 60 + epoch);
    }

    assertEquals(List.of("0 2.000 1.0000 61.00", "1 4.000 1.0000 62.00"), lines());
  }

  @Test
  void shouldAppendToTheLinesOfAnEarlierCoordinator() throws IOException {
    trained(0, 1, 2.0, 0.5);
    trained(1, 1, 1.0, 0.75);
    tested(10, 50);
    log = log("{'everyEpochs': 1}");

    for (int epoch = 1; epoch <= 2; epoch++) {
      trained(0, epoch, 1, 1);
      trained(1, epoch, 1, 1);
      tested(10 * epoch, 60 + epoch);
    }

    assertEquals(List.of("0 0.750 1.5000 50.00", "1 1.750 1.0000 62.00"), lines());
    assertEquals(List.of(), problems);
  }

  @Test
  void shouldNotUseATestOfAnotherVersionForTheEpoch() throws IOException {
    trained(0, 1, 1, 1);
    trained(1, 1, 1, 1);

    tested(11, 70);

    assertEquals(List.of("0 1.000 1.0000 nan"), lines());
  }

  @Test
  void shouldNotWaitForATestThatWasGivenUp() throws IOException {
    trained(0, 1, 1, 1);
    trained(1, 1, 1, 1);

    record(new EvaluationSkipped(0, 10, "no evaluator takes part"));

    assertEquals(List.of("0 1.000 1.0000 nan"), lines());
  }

  @Test
  void shouldNotWaitForATestThatIsNotDueNorForAWorkerThatDied() throws IOException {
    log = log("{'every': 7}");
    trained(0, 1, 1, 1);
    assertEquals(List.of(), lines());

    record(new MemberLeft(0, Role.WORKER, 1, 0, "silent"));

    assertEquals(List.of("0 1.000 1.0000 nan"), lines());
  }

  @Test
  void shouldKeepTheOrderAndWriteTheRestAtTheEnd() throws IOException {
    trained(0, 1, 1, 1);
    trained(0, 2, 3, 1);
    trained(1, 2, 3, 1);
    tested(20, 80);
    assertEquals(List.of("0 1.000 1.0000 nan", "1 2.000 3.0000 80.00"), lines());
    trained(1, 1, 1, 1);
    trained(0, 3, 5, 1);

    log.close();

    assertEquals("2 3.000 5.0000 nan", lines().get(2));
    assertEquals(3, lines().size(), "a late report makes no second line");
  }

  @Test
  void shouldAddTopKWhenAskedFor() throws IOException {
    log = log("{'everyEpochs': 1, 'topK': 5}");
    trained(0, 1, 1, 1);
    trained(1, 1, 1, 1);

    record(new Evaluated(0, 10, 500, 1, 40, 5, 90.5, false, "", "", 0, List.of()));

    assertEquals(List.of("0 1.000 1.0000 40.00 90.50"), lines());
  }

  private void record(TrainingEvent event) {
    view.apply(event);
    log.record(event);
  }

  private void trained(int rank, int epoch, double loss, double seconds) {
    record(new EpochTrained(0, rank, 0, epoch, 10L * epoch, 100, loss, 50, seconds));
  }

  private void tested(long version, double accuracy) {
    record(new Evaluated(0, version, 500, 1, accuracy, false, ""));
  }

  private List<String> lines() throws IOException {
    assertEquals(List.of(), problems);
    return Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  private EpochLog log(String evaluator) {
    JsonObject job =
        new JsonObject()
            .put("steps", 30)
            .put("workers", new JsonObject().put("batch", 10))
            .put("resolved", new JsonObject().put("trainingSamples", 200))
            .put("evaluator", new JsonObject(evaluator.replace('\'', '"')));
    EpochLog made = new EpochLog(file, JobConfig.read("job.json", job), view, problems::add);
    view.apply(new MemberJoined(0, Role.WORKER, 0, 0, "here", ""));
    view.apply(new MemberJoined(0, Role.WORKER, 1, 0, "here", ""));
    return made;
  }
}
