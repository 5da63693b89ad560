package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;

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

  private List<String> warnings() {
    JsonObject summary = RunSummary.of(JOB, progress, "finished", Optional.empty(), Map.of());
    return ResultText.closing(JOB, new RunDirectory(folder), summary).stream()
        .filter(line -> line.startsWith("WARNING"))
        .toList();
  }
}
