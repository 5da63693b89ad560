package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.launcher.run.RunSummary;
import io.vertigrad.observability.UpdateOutliers;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
  void shouldNameTheWorkerWhenItsUpdatesPointTheOtherWay() {
    for (int round = 1; round <= 12; round++) {
      for (int rank = 0; rank < 4; rank++) {
        String worker = "worker " + rank;
        double cosine = rank == 2 ? -0.25 : 0.5;
        progress.apply(new ScalarReported(0, worker, UpdateOutliers.DISTANCE, round, 1, round, 0));
        progress.apply(
            new ScalarReported(0, worker, UpdateOutliers.COSINE, round, cosine, round, 0));
      }
    }

    assertEquals(
        List.of(
            "WARNING: Worker 2's updates point the other way (cosine -0.25): wrong labels, a wrong"
                + " sign or broken memory?"),
        warnings());
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());
    assertEquals(4, summary.getJsonArray("workerUpdates").size());
    assertEquals(
        new JsonObject().put("rank", 0).put("distance", 1.0).put("cosine", 0.5),
        summary.getJsonArray("workerUpdates").getJsonObject(0));
  }

  @Test
  void shouldReportNothingForABalancedLedger() {
    progress.apply(new UpdatesCounted(0, 0, 0, 20, 19, 1, 0, 0, 0, 0));

    assertEquals(List.of(), warnings());
  }

  /** All workers went back from version 184, and the run was interrupted at version 70. */
  @Test
  void shouldSayWhichStepsAnInterruptedRunRepeats() {
    progress.apply(new ShardRolledBack(0, UpdatesCounted.NO_SERVER, 184, 60, ""));
    progress.apply(new UpdatesCounted(0, UpdatesCounted.NO_SERVER, 0, 70, 70, 0, 0, 0, 0, 0));
    Evaluated tested = new Evaluated(0, 70, 100, 2.25, 14, false, "");
    JsonObject summary = RunSummary.of(JOB, progress, "interrupted", Optional.of(tested), Map.of());

    String line =
        ResultText.closing(JOB, new RunDirectory(folder), summary.put("samples", 1L)).get(0);

    assertTrue(
        line.startsWith("interrupted at version 70, resume repeats the steps up to 184: "), line);
    assertTrue(summary.getJsonObject("updates").getBoolean("balanced"));
    Evaluated later = new Evaluated(0, 190, 100, 2.25, 14, false, "");
    assertFalse(
        RunSummary.of(JOB, progress, "interrupted", Optional.of(later), Map.of())
            .containsKey("repeatsTo"));
  }

  @Test
  void shouldGiveTheSpreadOverTheWorkersWhenTheyHaveSamplesOfTheirOwn() {
    double[] accuracies = {61, 98.5, 90, 92};
    for (int rank = 0; rank < 4; rank++) {
      progress.apply(new SamplesCounted(0, rank, 100 + rank, List.of(100, rank)));
      String source = "worker " + rank;
      progress.apply(new ScalarReported(0, source, "own.accuracy", 10, 0, 1, 0));
      progress.apply(new ScalarReported(0, source, "own.accuracy", 20, accuracies[rank], 2, 0));
      progress.apply(new ScalarReported(0, source, "other", 20, 7, 2, 0));
    }
    progress.apply(new ScalarReported(0, "worker pool", "own.accuracy", 20, 1, 1, 0));
    Evaluated tested = new Evaluated(0, 70, 100, 2.25, 14, false, "");
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.of(tested), Map.of());

    assertEquals(
        JsonObject.of("lowest", 61.0, "median", 91.0, "highest", 98.5),
        summary.getJsonObject("own").getJsonObject("accuracy"));
    assertEquals(
        JsonObject.of("rank", 1, "samples", 101, "labels", JsonArray.of(100, 1), "accuracy", 98.5),
        summary.getJsonObject("own").getJsonArray("workers").getJsonObject(1));
    assertEquals(
        "each worker has its own samples, 100 to 103; accuracy there in the last test of each:"
            + " 61.00 % to 98.50 %, median 91.00 %",
        ResultText.closing(JOB, new RunDirectory(folder), summary).get(1));
  }

  @Test
  void shouldGiveTheWorstEpsilonWhenUpdatesHaveNoise() {
    progress.apply(new ScalarReported(0, "worker 0", "privacy.epsilon", 10, 4.25, 1, 0));
    progress.apply(new ScalarReported(0, "worker 1", "privacy.epsilon", 10, 2.5, 1, 0));
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());

    assertEquals(
        JsonObject.of("unit", "worker", "epsilon", 4.25, "delta", 1e-5),
        summary.getJsonObject("privacy"));
    assertEquals(
        "privacy of each worker's updates towards the servers: epsilon 4.25 at delta 1e-05",
        ResultText.closing(JOB, new RunDirectory(folder), summary).get(1));
  }

  @Test
  void shouldReportConsensusDistanceOnlyWithoutServers() {
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
  void shouldReportANonFiniteRmseWhenARegressionDiverged() {
    Score score = new Score(200, Double.POSITIVE_INFINITY, 0, 0, 0, Metric.RMSE);
    Evaluated tested = Evaluated.of(10, score, 0, true, "00");
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.of(tested), Map.of());

    assertEquals(
        "RMSE Infinity on the whole test set (200 samples), loss Infinity",
        ResultText.closing(JOB, new RunDirectory(folder), summary).get(0));
  }

  @ParameterizedTest
  @CsvSource({
    "2.3535, 9.357, 2.3279, true",
    "2.3535, 2.3279, 2.3279, false",
    "2.3, 19, 19, true",
    "2.3, NaN, 19, true",
    "NaN, NaN, Infinity, true",
    "2.3, 2.2, NaN, true",
    "2.3, 0.01, 6, false",
    "2.3, 2.31, 2.30, false",
    "0.1, 0.12, 0.11, false",
    "2.3, 5, 1.2, false",
    "NaN, 19, 19, false",
  })
  void shouldSayThatARunDivergedWhenItsModelIsWorseThanTheInitialOne(
      double initial, double training, double test, boolean diverged) {
    if (!Double.isNaN(initial)) {
      progress.apply(new Evaluated(0, 0, 100, initial, 10, false, ""));
    }
    if (!Double.isNaN(training)) {
      progress.apply(TestProgress.of(0, 0, 0, 9, 100, training));
    }
    Evaluated tested = new Evaluated(0, 9, 100, test, 10.45, true, "");
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.of(tested), Map.of());

    List<String> lines = ResultText.closing(JOB, new RunDirectory(folder), summary);

    assertEquals(diverged, RunSummary.divergence(summary).isPresent(), summary.encode());
    assertEquals(diverged, lines.get(1).startsWith("DIVERGED: "), lines.toString());
    if (diverged) {
      assertTrue(
          lines.get(1).endsWith(". Lower optimizer.learningRate (0.01), to a tenth"), lines.get(1));
    }
  }

  @Test
  void shouldReportDivergenceWhenTheLossRoseAndTheModelEndsAtChance() {
    progress.apply(new Evaluated(0, 0, 100, 2.3535, 14, false, ""));
    progress.apply(new Evaluated(0, 5, 100, 20.72, 10, false, ""));
    Evaluated tested = new Evaluated(0, 9, 100, 2.3279, 10.45, true, "");
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.of(tested), Map.of());

    String line = ResultText.closing(JOB, new RunDirectory(folder), summary).get(1);

    assertTrue(
        line.startsWith("DIVERGED: the loss rose from 2.354 before the first step to 20.72, and"),
        line);
    assertEquals(
        new JsonObject().put("initialLoss", 2.3535).put("worstLoss", 20.72),
        summary.getJsonObject("diverged"));
  }

  @Test
  void shouldSayThatTheModelOfAStreamGuesses() {
    StreamTests tests =
        new StreamTests(
            false, 100, 55, 50, 30, 80, 57, Map.of(0, 57L, 1, 43L), Map.of(0, 100L), 0, 0, 0, 0);
    progress.apply(new StreamTested(0, 0, 0, tests));
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());

    List<String> lines = ResultText.closing(JOB, new RunDirectory(folder), summary);

    assertEquals(
        "NO BETTER THAN GUESSING: the most frequent class so far always has accuracy 57.00 % on the"
            + " same events. Try another optimizer.learningRate (0.01), a tenth or ten times as"
            + " much, or train longer",
        lines.get(1));
    assertTrue(lines.get(0).startsWith("accuracy 55.00 % on 100 events"), lines.get(0));
    JsonObject better = summary.copy();
    better.getJsonObject("baseline").put("beaten", true);
    assertTrue(Baseline.unbeatenIn(better).isEmpty());
    assertTrue(Baseline.unbeatenIn(summary.copy().put("state", "interrupted")).isEmpty());
  }

  @Test
  void shouldWriteTheErrorsOfAStreamAsThoseOfATest() {
    StreamTests tests =
        new StreamTests(
            true,
            4,
            4 * 459_400.0 * 459_400,
            4,
            4 * 25.0,
            4 * 1e10,
            4 * 173_000.0 * 173_000,
            Map.of(),
            Map.of(),
            0,
            0,
            0,
            0);

    assertEquals(
        "RMSE 459,400 on 4 events before training on each, 5.000 on the last ones (no change"
            + " 100,000, mean 173,000)",
        ResultText.stream(tests.toJson()));
  }

  @Test
  void shouldCountRefusedUpdatesInOneLine() {
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());
    assertTrue(refusals(summary).isEmpty());

    summary.getJsonObject("updates").put("refused", 1_200L);

    assertEquals(
        List.of(
            "1,200 updates were refused, with NaN, infinity or numbers beyond"
                + " exchange.maxMagnitude"),
        refusals(summary));
  }

  private List<String> refusals(JsonObject summary) {
    return ResultText.closing(JOB, new RunDirectory(folder), summary).stream()
        .filter(line -> line.contains("refused"))
        .toList();
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
