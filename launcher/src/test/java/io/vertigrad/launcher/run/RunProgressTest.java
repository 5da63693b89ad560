package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.TestProgress;
import java.util.List;
import java.util.OptionalDouble;
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
  void shouldSumTheWorkersWhenTheRunContinues() {
    assertEquals(401 * 128, progress.samples());
  }

  @Test
  void shouldUseTheServersVersionWhenTheRunIsOver() {
    progress.apply(new MemberLeft(0, Role.WORKER, 0, 0, "finished"));
    progress.apply(new JobFinished(0, 400, 400 * 128));

    assertEquals(400 * 128, progress.samples());
    assertEquals(200 * 128, progress.samplesPerSecond(), 1e-6);
  }

  @Test
  void shouldNotCountWhatMembersTrainedForACoordinatorBefore() {
    RunProgress resumed = new RunProgress(clock::get, 10_000);
    resumed.apply(new JobStarted(0, "async", 2, 1, 1_960, 200, 400));
    resumed.apply(ofIncarnation(0, 300));
    resumed.apply(ofIncarnation(10_000, 20));
    clock.set(4 * SECOND);

    assertEquals(20 * 128, resumed.samples());
    assertEquals(10 * 128, resumed.samplesPerSecond(), 1e-9);
    assertEquals(300, resumed.resumedAt());
  }

  @Test
  void shouldWarnOnceWhenANodeWithOtherSamplesTakesARank() {
    progress.apply(new SamplesCounted(0, 0, 40, List.of(30, 10)));
    progress.apply(new SamplesCounted(0, 1, 400, List.of(100, 300)));
    progress.apply(new SamplesCounted(0, 0, 40, List.of(30, 10)));
    assertEquals(List.of(), progress.takeExchangedSamples());

    progress.apply(new SamplesCounted(0, 0, 1_400, List.of(1_100, 300)));

    assertEquals(
        List.of(
            "worker 0 has other samples than before (1,400, before 40): another node has taken its"
                + " rank, and what the job remembers of that rank"),
        progress.takeExchangedSamples());
    assertEquals(List.of(), progress.takeExchangedSamples());
  }

  @Test
  void shouldReportRemainingTimeAtThePaceSinceTheFirstReport() {
    assertEquals(OptionalDouble.empty(), progress.secondsLeft());

    progress.apply(worker(0, 101, 101 * 128));

    // 100 versions took 2 s; 299 are left.
    assertEquals(299 * 0.02, progress.secondsLeft().orElseThrow(), 1e-9);
    clock.set(4 * SECOND);
    assertEquals(299 * 0.04, progress.secondsLeft().orElseThrow(), 1e-9);
  }

  @Test
  void shouldReportNoRemainingTimeInTheFirstSteps() {
    progress.apply(worker(0, 8, 8 * 128));
    assertEquals(OptionalDouble.empty(), progress.secondsLeft());

    // 8 of 399 versions are more than one in fifty.
    progress.apply(worker(0, 9, 9 * 128));
    assertEquals(391 * 0.25, progress.secondsLeft().orElseThrow(), 1e-9);
  }

  @Test
  void shouldReportRemainingTimeAfterTenSecondsOfFewSteps() {
    progress.apply(worker(0, 3, 3 * 128));
    clock.set(10 * SECOND - 1);
    assertEquals(OptionalDouble.empty(), progress.secondsLeft());

    clock.set(10 * SECOND);

    assertEquals(397 * 5, progress.secondsLeft().orElseThrow(), 1e-9);
  }

  @Test
  void shouldCountNoPauseAsTraining() {
    progress.apply(worker(0, 101, 101 * 128));
    progress.apply(new JobPaused(0));
    clock.set(10 * SECOND);

    assertTrue(progress.paused());
    assertEquals(OptionalDouble.empty(), progress.secondsLeft());
    assertEquals(2, progress.seconds());
    progress.apply(new JobResumed(0, 8_000));
    clock.set(12 * SECOND);

    assertEquals(4, progress.seconds());
    assertEquals(299 * 0.04, progress.secondsLeft().orElseThrow(), 1e-9);
  }

  @Test
  void shouldReportNoRemainingTimeAfterTheEnd() {
    progress.apply(worker(0, 400, 400 * 128));
    progress.apply(new MemberLeft(0, Role.WORKER, 0, 0, "finished"));

    assertEquals(OptionalDouble.empty(), progress.secondsLeft());
  }

  @Test
  void shouldReportRemainingTimeWhenAWorkerHasDied() {
    progress.apply(worker(0, 101, 101 * 128));
    progress.apply(new MemberLeft(0, Role.WORKER, 1, 0, "silent for 10000 ms"));

    assertEquals(299 * 0.02, progress.secondsLeft().orElseThrow(), 1e-9);
  }

  @Test
  void shouldCountTheSecondsAfterAWorkerHasDied() {
    progress.apply(new MemberLeft(0, Role.WORKER, 1, 0, "silent for 10000 ms"));
    clock.set(9 * SECOND);
    progress.apply(worker(0, 400, 400 * 128));
    clock.set(10 * SECOND);
    progress.apply(new JobFinished(0, 400, 400 * 128));

    assertEquals(9, progress.seconds());
  }

  @Test
  void shouldNeverGoBackInSteps() {
    progress.apply(worker(0, 200, 200 * 128));
    assertEquals(100, progress.step());

    progress.apply(worker(1, 20, 20 * 128));
    progress.apply(new MemberLeft(0, Role.WORKER, 0, 0, "silent for 10000 ms"));

    assertEquals(100, progress.step());
  }

  @Test
  void shouldLeaveTheLossOfAWorkerThatDiedOut() {
    progress.apply(loss(0, 3));
    progress.apply(loss(1, 1));
    assertEquals(2, progress.view().trainingLoss());

    progress.apply(new MemberLeft(0, Role.WORKER, 0, 0, "silent for 10000 ms"));

    assertEquals(1, progress.view().trainingLoss());
  }

  private static WorkerProgress loss(int rank, double loss) {
    return TestProgress.of(0, rank, 0, 1, 128, loss);
  }

  private static WorkerProgress ofIncarnation(int incarnation, long version) {
    long samples = version * 128;
    return TestProgress.of(0, 0, incarnation, version, samples, 1);
  }

  private static WorkerProgress worker(int rank, long samples) {
    return worker(rank, 1, samples);
  }

  private static WorkerProgress worker(int rank, long version, long samples) {
    return TestProgress.of(0, rank, 0, version, samples, 1);
  }
}
