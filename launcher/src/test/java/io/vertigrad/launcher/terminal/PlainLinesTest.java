package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PlainLinesTest {

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private long nowMillis = 1_000;
  private final RunProgress progress = new RunProgress(() -> nowMillis * 1_000_000);
  private final PlainLines lines =
      new PlainLines(
          new PrintStream(printed, true, StandardCharsets.UTF_8),
          JobConfig.read("test", new JsonObject()),
          () -> nowMillis);

  @Test
  void shouldPrintTheFirstAndTheLastEvaluationOfAShortRun() {
    apply(new JobStarted(0, "sync", 2, 1, 1_960, 300, 300));
    for (int version = 10; version <= 300; version += 10) {
      nowMillis += 100;
      apply(evaluated(version, false));
    }
    apply(evaluated(300, true));
    lines.conclude(List.of("accuracy 90.00 %"), new JsonObject());

    assertEquals(
        List.of(
            "training: sync, 2 workers, 1 server, 1,960 parameters",
            "version     10  accuracy  90.00 %  loss 0.5000  (500 test samples)",
            "version    300  accuracy  90.00 %  loss 0.5000  (500 test samples, all of them)",
            "accuracy 90.00 %"),
        printedLines());
  }

  @Test
  void shouldPrintTheLastEvaluationOfARunThatFailed() {
    apply(evaluated(10, false));
    apply(evaluated(20, false));

    lines.close();

    assertEquals(2, printedLines().size());
    assertTrue(printedLines().get(1).startsWith("version     20"), printedLines().toString());
  }

  @Test
  void shouldLimitTheRateOfPrintedProgress() {
    apply(new JobStarted(0, "sync", 2, 1, 1_960, 72_000, 72_000));
    for (int second = 1; second <= 7_200; second++) {
      nowMillis += 1_000;
      apply(worker(0, 10L * second));
      apply(evaluated(10L * second, false));
    }

    // One line a minute after the first twenty minutes, and at most one in 5 s before.
    assertTrue(printedLines().size() > 2 * 100, printedLines().size() + " lines");
    assertTrue(printedLines().size() < 2 * 200, printedLines().size() + " lines");
  }

  @Test
  void shouldReportTheJobsStepFromAnyWorker() {
    apply(new JobStarted(0, "async", 2, 1, 1_960, 100, 200));
    apply(worker(0, 80));
    nowMillis += 6_000;

    apply(worker(1, 20));

    // Version 80 of 200 is step 40 of 100, although worker 1 has only seen version 20.
    assertTrue(printedLines().get(1).startsWith("step 40 of 100, "), printedLines().toString());
  }

  @Test
  void shouldNotReportMembersThatLeaveAStoppedJob() {
    apply(new JobStopped(0, "interrupted"));
    apply(new MemberLeft(0, Role.WORKER, 0, 0, "stopped"));

    assertEquals(List.of(), printedLines());
  }

  @Test
  void shouldPrintTheFirstRefusedUpdateOnly() {
    for (int step = 5; step < 25; step++) {
      apply(new UpdateRefused(0, 0, 1, step, 2, "partition 2 holds NaN"));
    }

    assertEquals(
        List.of(
            "shard 0 refused a gradient of worker 1, step 5: partition 2 holds NaN (run.log has any"
                + " further ones)"),
        printedLines());
    assertEquals(20, progress.refused());
  }

  private void apply(TrainingEvent event) {
    progress.apply(event);
    lines.show(event, progress);
  }

  private List<String> printedLines() {
    return printed.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private static Evaluated evaluated(long version, boolean whole) {
    return new Evaluated(0, version, 500, 0.5, 90, whole, "");
  }

  private static WorkerProgress worker(int rank, long version) {
    return TestProgress.of(0, rank, 0, version, 1, 1);
  }
}
