package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.launcher.run.RunSummary;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ResultTextTest {

  private static final JobConfig JOB = JobConfig.read("test", new JsonObject());

  @TempDir private Path folder;

  private final RunProgress progress = new RunProgress(() -> 0);

  @Test
  void shouldWarnOfEachServerAndWorkerWhoseUpdatesAreLostButNotOfALongList() {
    for (int rank = 0; rank < 6; rank++) {
      progress.apply(new UpdatesCounted(0, 1, rank, 20, 19, 0, 0, 0, 1, 0));
    }

    List<String> warnings = warnings();

    assertEquals(5, warnings.size(), warnings.toString());
    assertEquals("WARNING: server 1: updates of worker 0: 1 of 20 are lost", warnings.get(0));
    assertEquals("WARNING: 2 more such problems, see updates in summary.json", warnings.get(4));
  }

  @Test
  void shouldSayNothingOfALedgerThatBalances() {
    progress.apply(new UpdatesCounted(0, 0, 0, 20, 19, 1, 0, 0, 0, 0));

    assertEquals(List.of(), warnings());
  }

  @Test
  void shouldTellHowFarWorkersAreApartOnlyWhereTheyCanBe() {
    assertEquals(List.of(), replicas(0, 1, 0.004));
    assertEquals(List.of("81 % of the exchange hidden behind gradients"), replicas(0, 1, 0.81));
    assertEquals(
        List.of(
            "averaged over the workers: consensus distance 0.628, spectral gap 0.667, 0 % of the"
                + " exchange hidden behind gradients"),
        replicas(0.628, 0.667, 0));
    assertEquals(1, replicas(0.1, 1, 0).size(), "a complete graph averages now and then");
  }

  @Test
  void shouldSpeakOfAnRmseThatIsNotFiniteWhenARegressionDiverged() {
    Score score = new Score(200, Double.POSITIVE_INFINITY, 0, 0, 0, Metric.RMSE);
    Evaluated tested = Evaluated.of(10, score, 0, true, "00");
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.of(tested), Map.of());

    assertEquals(
        "RMSE Infinity on the whole test set (200 samples), loss Infinity",
        ResultText.closing(JOB, new RunDirectory(folder), summary).get(0));
  }

  private List<String> replicas(double distance, double gap, double hidden) {
    JsonObject summary =
        RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of())
            .put(
                "replicas",
                new JsonObject()
                    .put("consensusDistance", distance)
                    .put("spectralGap", gap)
                    .put("hiddenShare", hidden));
    return ResultText.closing(JOB, new RunDirectory(folder), summary).stream()
        .filter(line -> line.contains("hidden"))
        .toList();
  }

  private List<String> warnings() {
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());
    return ResultText.closing(JOB, new RunDirectory(folder), summary).stream()
        .filter(line -> line.startsWith("WARNING"))
        .toList();
  }
}
