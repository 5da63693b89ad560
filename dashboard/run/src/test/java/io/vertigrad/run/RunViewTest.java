package io.vertigrad.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertigrad.run.RunView.Condition;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.run.RunView.Phase;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Replays streams of events of a run with one server and two workers. */
final class RunViewTest {

  private static final JobStarted START = new JobStarted(1, "sync", 2, 1, 1_960, 200, 200);

  private final RunView view = new RunView();

  @Test
  void shouldBeEmptyBeforeTheFirstEvent() {
    assertEquals(Phase.WAITING, view.phase());
    assertEquals(List.of(), view.members());
    assertEquals(Optional.empty(), view.started());
    assertEquals(Optional.empty(), view.worker(0));
    assertEquals(Optional.empty(), view.server(0));
    assertEquals(0, view.version());
    assertEquals(0, view.samples());
    assertTrue(Double.isNaN(view.trainingLoss()) && Double.isNaN(view.trainingAccuracy()));
  }

  @Test
  void shouldKnowTheStateOfARunWhenItsEventsAreReplayed() {
    replay(joined(Role.SERVER, 0, 0), joined(Role.WORKER, 0, 0), joined(Role.WORKER, 1, 0), START);
    assertEquals(Phase.RUNNING, view.phase());

    Evaluated part = new Evaluated(2, 10, 500, 0.5, 90, false, "a");
    Evaluated whole = new Evaluated(3, 20, 2_000, 0.4, 91, true, "b");
    Evaluated later = new Evaluated(4, 30, 500, 0.3, 92, false, "c");
    ReplicasAveraged averaged = new ReplicasAveraged(5, 30, 2, 0.25, 91);
    replay(progress(0, 0, 30, 1, 0.5), progress(1, 0, 28, 2, 1.5), part, whole, later, averaged);

    assertEquals(30, view.version());
    assertEquals(2, view.epoch());
    assertEquals(58 * 128, view.samples());
    assertEquals(1, view.trainingLoss());
    assertEquals(50, view.trainingAccuracy());
    assertEquals(Optional.of(later), view.evaluated());
    assertEquals(Optional.of(whole), view.wholeTestSet());
    assertEquals(Optional.of(averaged), view.averaged());

    JobEnding ending = new JobEnding(6, "accuracy", 90, 92, 30);
    JobFinished finished = new JobFinished(8, 31, 62 * 128);
    replay(ending, new UpdatesCounted(7, 0, 0, 31, 31, 0, 0, 0, 0, 0), finished);

    assertEquals(Phase.FINISHED, view.phase());
    assertEquals(Optional.of(START), view.started());
    assertEquals(Optional.of(ending), view.ending());
    assertEquals(Optional.of(finished), view.finished());
    assertEquals(31, view.version(), "workers report no more");
    assertEquals(58 * 128, view.samples(), "as the workers counted them");
    assertEquals(31, view.updates().sum(UpdatesCounted::applied));
  }

  @Test
  void shouldFollowThePhasesOfTheJob() {
    replay(START, new JobPaused(2));
    assertEquals(Phase.PAUSED, view.phase());

    replay(new JobResumed(3, 1));
    assertEquals(Phase.RUNNING, view.phase());

    replay(new JobPaused(4), new JobStopped(5, JobStopped.INTERRUPTED));
    assertEquals(Phase.STOPPED, view.phase());

    RunView failed = new RunView();
    failed.apply(new JobFailed(1, "server 0 is missing"));
    assertEquals(Phase.FAILED, failed.phase());
  }

  @Test
  void shouldListTheMembersThatTakePartInTheOrderInWhichTheyJoined() {
    replay(joined(Role.WORKER, 1, 0), joined(Role.SERVER, 0, 0), joined(Role.WORKER, 0, 0));
    replay(
        left(Role.WORKER, 1, 0, "its process ended"), left(Role.WORKER, 0, 0, MemberLeft.FINISHED));

    assertEquals(List.of(up(Role.SERVER, 0, 0)), view.members());
    assertEquals(Condition.LOST, condition(1));
    assertEquals("its process ended", view.member(Role.WORKER, 1).orElseThrow().reason());
    assertEquals(Condition.LEFT, condition(0));

    replay(joined(Role.WORKER, 1, 1));

    assertEquals(List.of(up(Role.SERVER, 0, 0), up(Role.WORKER, 1, 1)), view.members());
    assertEquals(List.of(up(Role.WORKER, 1, 1)), view.members(Role.WORKER));
  }

  @Test
  void shouldTrustASuspectAgainWhenItReports() {
    replay(joined(Role.WORKER, 0, 0), new MemberSuspected(2, Role.WORKER, 0, 0, 3_000));
    assertEquals(Condition.SUSPECT, condition(0));
    assertEquals(1, view.members().size(), "a suspect takes part");

    replay(progress(0, 0, 1, 0, 1));

    assertEquals(Condition.UP, condition(0));
  }

  @Test
  void shouldIgnoreALateReportOfAMemberThatLeft() {
    replay(joined(Role.WORKER, 0, 0), left(Role.WORKER, 0, 0, "silent for 10000 ms"));

    replay(progress(0, 0, 7, 0, 1), vitals(0, 0));

    assertEquals(Condition.LOST, condition(0));
    assertEquals(7 * 128, view.samples(), "its training counts");
  }

  @Test
  void shouldForgetTheVitalsOfAMemberWhenItsProcessIsGone() {
    replay(joined(Role.WORKER, 0, 0));
    assertEquals(Optional.empty(), vitals());

    replay(vitals(0, 0));
    assertEquals(Optional.of(1.5), vitals().map(measured -> measured.value(Vital.CORES)));

    replay(left(Role.WORKER, 0, 0, "silent for 10000 ms"));
    assertEquals(Optional.empty(), vitals());

    replay(joined(Role.WORKER, 0, 1), vitals(0, 0));
    assertEquals(Optional.empty(), vitals(), "the report is of the process before");
  }

  @Test
  void shouldRecogniseAMemberByItsReports() {
    replay(progress(0, 3, 7, 0, 1));

    assertEquals(Condition.UP, condition(0));
    assertEquals(List.of(), view.members(), "its admission was not seen");
  }

  @Test
  void shouldSumTheCountersOfAllIncarnationsOnce() {
    replay(progress(0, 0, 20, 0, 1), server(0, 80));
    replay(joined(Role.WORKER, 0, 1), progress(0, 1, 5, 0, 2), server(1, 5));
    // The last report of the earlier incarnation arrives late, and twice.
    replay(progress(0, 0, 21, 0, 1), progress(0, 0, 21, 0, 1));

    WorkerProgress worker = view.worker(0).orElseThrow();
    assertEquals(26 * 128, worker.samples());
    assertEquals(21, worker.step(), "steps count from the start of the job");
    assertEquals(Map.of(0, 26L), worker.staleness());
    assertEquals(5, worker.version(), "the newest incarnation's");
    assertEquals(1, worker.incarnation());
    assertEquals(2, worker.loss());
    assertEquals(21, view.version());
    assertEquals(85, view.server(0).orElseThrow().applied());
    assertEquals(List.of(worker), view.workers());
  }

  @Test
  void shouldForgetNoCounterWhenARankHasManyIncarnations() {
    for (int incarnation = 0; incarnation < 20; incarnation++) {
      replay(joined(Role.WORKER, 0, incarnation), progress(0, incarnation, 3, 0, 1));
    }

    assertEquals(60 * 128, view.samples());
  }

  @Test
  void shouldAverageTheLossesOfWorkersThatTakePart() {
    replay(progress(0, 0, 1, 0, 3), progress(1, 0, 1, 0, 1), stageWithoutSamples(2));
    assertEquals(2, view.trainingLoss());

    replay(left(Role.WORKER, 0, 0, "silent for 10000 ms"));
    assertEquals(1, view.trainingLoss());

    replay(joined(Role.WORKER, 0, 1));
    assertEquals(1, view.trainingLoss(), "the new worker 0 has reported none");
    replay(progress(0, 1, 1, 0, 5));
    assertEquals(3, view.trainingLoss());

    replay(left(Role.WORKER, 0, 1, "stopped"), left(Role.WORKER, 1, 0, "stopped"));
    replay(left(Role.WORKER, 2, 0, "stopped"));
    assertEquals(3, view.trainingLoss(), "the mean of 3, 5 and 1 when nobody is left");
  }

  @Test
  void shouldKeepTrainingForAnEarlierCoordinatorApart() {
    RunView resumed = new RunView(10_000);
    resumed.apply(START);
    resumed.apply(progress(0, 0, 300, 4, 1));
    resumed.apply(progress(0, 10_000, 20, 1, 1));

    assertEquals(20 * 128, resumed.samples());
    assertEquals(300 * 128, resumed.samplesBefore());
    assertEquals(20, resumed.version());
    assertEquals(1, resumed.epoch());
  }

  private void replay(TrainingEvent... events) {
    for (TrainingEvent event : events) {
      view.apply(event);
    }
  }

  private Condition condition(int worker) {
    return view.member(Role.WORKER, worker).orElseThrow().condition();
  }

  private static Member up(Role role, int rank, int incarnation) {
    return new Member(role, rank, incarnation, "a pid 1", Condition.UP, "");
  }

  private static MemberJoined joined(Role role, int rank, int incarnation) {
    return new MemberJoined(1, role, rank, incarnation, "a pid 1", "");
  }

  private static MemberLeft left(Role role, int rank, int incarnation, String reason) {
    return new MemberLeft(9, role, rank, incarnation, reason);
  }

  private Optional<Vitals> vitals() {
    return view.vitals(view.member(Role.WORKER, 0).orElseThrow());
  }

  private static MemberVitals vitals(int rank, int incarnation) {
    return new MemberVitals(
        9,
        Role.WORKER,
        rank,
        incarnation,
        "a pid 1",
        new Vitals(Map.of(Vital.CORES, 1.5), 0, Map.of()));
  }

  private static ServerProgress server(int incarnation, long applied) {
    return new ServerProgress(9, 0, incarnation, applied, 0, applied, 0, 0, 0, 0);
  }

  private static WorkerProgress stageWithoutSamples(int rank) {
    return progress(rank, 0, 1, 0, 0, 0);
  }

  private static WorkerProgress progress(
      int rank, int incarnation, long steps, int epoch, double loss) {
    return progress(rank, incarnation, steps, epoch, 128 * steps, loss);
  }

  private static WorkerProgress progress(
      int rank, int incarnation, long steps, int epoch, long samples, double loss) {
    return new WorkerProgress(
        9,
        rank,
        incarnation,
        steps,
        steps,
        epoch,
        samples,
        loss,
        50,
        0,
        0,
        0,
        0,
        0,
        0,
        Map.of(0, steps),
        Map.of(),
        Map.of());
  }
}
