package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.BatchesDivided;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointsDelayed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ProcessRestarted;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.StateTaken;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.TrainingEvent.VersionRefused;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class EventTextTest {

  private static final JobConfig JOB = JobConfig.read("test", new JsonObject());

  @ParameterizedTest
  @CsvSource({"0, 0:00", "6.6, 0:07", "59.6, 1:00", "754, 12:34", "3723, 1:02:03"})
  void shouldWriteDurationsLikeAClock(double seconds, String expected) {
    assertEquals(expected, EventText.duration(seconds));
  }

  @Test
  void shouldPrintTheRemainingTimeFirst() {
    AtomicLong clock = new AtomicLong();
    RunProgress progress = new RunProgress(clock::get);
    progress.apply(new JobStarted(0, "sync", 1, 1, 10, 90, 90));
    progress.apply(progress(0));
    assertEquals(
        "epoch 0, mean 0 samples/s, loss 0.500, staleness 0.0", EventText.progress(progress));

    clock.set(10_000_000_000L);
    progress.apply(progress(10));

    assertEquals(
        "1:20 left, epoch 0, mean 1 samples/s, loss 0.500, staleness 0.0",
        EventText.progress(progress));
  }

  @Test
  void shouldListTheBatchesOfFewWorkersAndTheRangeOfMany() {
    assertEquals(
        "from step 40 on, workers train 39, 38, 38, 13 samples a step (workers.balance)",
        EventText.of(new BatchesDivided(0, 40, List.of(39, 38, 38, 13)), JOB).orElseThrow());

    List<Integer> many = IntStream.rangeClosed(1, 17).boxed().toList();
    assertEquals(
        "from step 1,000 on, workers train 1 to 17 samples a step (workers.balance)",
        EventText.of(new BatchesDivided(0, 1_000, many), JOB).orElseThrow());
  }

  @Test
  void shouldListWhatAWorkerHasWhenItHasSamplesOfItsOwn() {
    assertEquals(
        "worker 3 has 2,700 samples of its own, 2 of 4 labels: 1,500 of 1, 1,200 of 3",
        EventText.of(new SamplesCounted(0, 3, 2_700, List.of(0, 1_500, 0, 1_200)), JOB)
            .orElseThrow());
    assertEquals(
        "worker 0 has 12 samples of its own",
        EventText.of(new SamplesCounted(0, 0, 12, List.of()), JOB).orElseThrow());
    List<Integer> ones = Collections.nCopies(11, 1);
    assertTrue(
        EventText.of(new SamplesCounted(0, 0, 11, ones), JOB)
            .orElseThrow()
            .endsWith("1 of 9, ..."));
    assertTrue(EventText.of(new SamplesCounted(0, 16, 11, ones), JOB).isEmpty());
  }

  @Test
  void shouldWriteTheAccuracyOfARefusedVersionInPercent() {
    assertEquals(
        "version 40 is not served: accuracy 81.25 % in the last test, 93.50 % in the best"
            + " (serving.guard)",
        EventText.of(new VersionRefused(0, "a1", 40, 30, "accuracy", 81.25, 93.5), JOB)
            .orElseThrow());
    assertEquals(
        "version 40 is not served: loss 1.2500 in the last test, 0.2500 in the best (serving.guard)",
        EventText.of(new VersionRefused(0, "a1", 40, 30, "loss", 1.25, 0.25), JOB).orElseThrow());
  }

  @Test
  void shouldReportTheMissingMemberOfAStall() {
    assertEquals(
        "no step for 15.1 s: missing worker 1; shard 0, partition 3 waits for step 17 of worker 1",
        EventText.of(
                new StallFound(
                    0,
                    17,
                    15_100,
                    "worker 1",
                    "shard 0, partition 3 waits for step 17 of worker 1",
                    ""),
                JOB)
            .orElseThrow());
  }

  @Test
  void shouldReportTheRestartOfADeadProcessAndItsLimit() {
    assertEquals(
        "server-0 (process 7) ended with exit code 137 (signal 9); log: a.log; started again"
            + " (restart 1 of at most 3, cluster.restarts)",
        EventText.of(
                new ProcessRestarted(
                    0,
                    "server-0",
                    1,
                    3,
                    "server-0 (process 7) ended with exit code 137 (signal 9); log: a.log"),
                JOB)
            .orElseThrow());
  }

  @Test
  void shouldShowAWorkerAsAStageWhenTheJobHasAPipeline() {
    JobConfig stages =
        JobConfig.read("test", new JsonObject("{\"pipeline\": {\"stages\": 2, \"replicas\": 2}}"));
    MemberLeft left = new MemberLeft(0, Role.WORKER, 3, 0, "silent for 10000 ms");
    CheckpointFailed full = new CheckpointFailed(0, 1, 50, "no space");

    assertEquals(
        "stage 1 of replica 1 left: silent for 10000 ms", EventText.of(left, stages).orElseThrow());
    assertEquals("worker 3 left: silent for 10000 ms", EventText.of(left, JOB).orElseThrow());
    assertEquals(
        "stage 1 of replica 0 could not write checkpoint 50: no space; training goes on",
        EventText.of(full, stages).orElseThrow());
  }

  @Test
  void shouldSayWhoHadTheStateOfALostRank() {
    assertEquals(
        "worker 2 goes on at version 140 from the memory of worker 0; no checkpoint was read",
        EventText.of(new StateTaken(0, 2, 140, 0), JOB).orElseThrow());
    assertEquals(
        "worker 2 goes on at version 140 from the memory of its new process, which followed it while"
            + " it waited for a place; no checkpoint was read",
        EventText.of(new StateTaken(0, 2, 140, 2), JOB).orElseThrow());
  }

  @Test
  void shouldSayHowFarAllWorkersGoBackAndWhy() {
    ShardRolledBack back = new ShardRolledBack(0, UpdatesCounted.NO_SERVER, 249, 220, "");
    ShardRolledBack anew =
        new ShardRolledBack(0, UpdatesCounted.NO_SERVER, 249, 0, "worker 5 can read no checkpoint");

    assertEquals(
        "all workers go on at version 220, although 249 was reached; what is missing is trained"
            + " again",
        EventText.of(back, JOB).orElseThrow());
    assertEquals(
        "all workers go on at version 0, although 249 was reached: worker 5 can read no checkpoint;"
            + " what is missing is trained again",
        EventText.of(anew, JOB).orElseThrow());
    assertEquals(
        "checkpoints are 40.0 s apart, checkpoint.seconds is 10.0: slow; a loss repeats as much",
        EventText.of(new CheckpointsDelayed(0, 40, 10, "slow"), JOB).orElseThrow());
  }

  private static WorkerProgress progress(long version) {
    return TestProgress.of(0, 0, 0, version, Math.max(1, version), 0.5);
  }
}
