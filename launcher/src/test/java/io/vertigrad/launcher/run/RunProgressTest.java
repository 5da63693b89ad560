package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.verticles.metrics.TrainingEvent.JobFinished;
import io.vertigrad.verticles.metrics.TrainingEvent.JobStarted;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RunProgressTest {

  private static final long SECOND = 1_000_000_000;

  private final AtomicLong clock = new AtomicLong();
  private final RunProgress progress = new RunProgress(clock::get);

  @BeforeEach
  void trainTwoSeconds() {
    progress.apply(new JobStarted(0, "async", 2, 1, 1_960, 200, 400));
    progress.apply(worker(0, 201 * 128));
    progress.apply(worker(1, 200 * 128));
    clock.set(2 * SECOND);
  }

  @Test
  void shouldAddUpTheWorkersWhenTheRunGoesOn() {
    assertEquals(401 * 128, progress.samples());
  }

  @Test
  void shouldTrustTheServersWhenTheRunIsOver() {
    progress.apply(new MemberLeft(0, "worker", 0, 0, "finished"));
    progress.apply(new JobFinished(0, 400, 400 * 128));

    assertEquals(400 * 128, progress.samples());
    assertEquals(200 * 128, progress.samplesPerSecond(), 1e-6);
  }

  private static WorkerProgress worker(int rank, long samples) {
    return new WorkerProgress(0, rank, 0, 1, 1, 0, samples, 1, 0, 0, 0, 0, 0, 0, Map.of());
  }
}
