package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** The phase of a job and how it ends: evaluated, failed or stopped. The result is set once. */
final class JobLifecycle {

  private final Consumer<Decision> decisions;
  private final CoordinatorEvents news;
  private final JobProgress progress;
  private JobPhase state = JobPhase.WAITING;
  private String reason = "";
  private Optional<EarlyEnd> early = Optional.empty();
  private boolean finishedWell;
  private boolean complete;

  JobLifecycle(Consumer<Decision> decisions, CoordinatorEvents news, JobProgress progress) {
    this.decisions = decisions;
    this.news = news;
    this.progress = progress;
  }

  JobPhase state() {
    return state;
  }

  /** Returns whether steps are left to take, paused or not. */
  boolean running() {
    return state == JobPhase.RUNNING || state == JobPhase.PAUSED || ending();
  }

  /** Returns whether workers are held back, for good or not. */
  boolean paused() {
    return state == JobPhase.PAUSED || ending();
  }

  /** Returns whether the steps that were started before an early end are being finished. */
  boolean ending() {
    return state == JobPhase.ENDING;
  }

  /** Returns whether the last step is done and members are kept for the model they hold. */
  boolean holdsResult() {
    return state == JobPhase.FINISHING || state == JobPhase.FINISHED;
  }

  /** Starts an early end; returns false when the job does not run or ends already. */
  boolean end(EarlyEnd why) {
    boolean ends =
        turn(JobPhase.RUNNING, JobPhase.ENDING) || turn(JobPhase.PAUSED, JobPhase.ENDING);
    early = ends ? Optional.of(why) : early;
    return ends;
  }

  /** Pauses the job; returns false when it is not running. */
  boolean pause() {
    return turn(JobPhase.RUNNING, JobPhase.PAUSED);
  }

  /** Resumes the job; returns false when it is not paused. */
  boolean resume() {
    return turn(JobPhase.PAUSED, JobPhase.RUNNING);
  }

  /** Returns why the job ended; empty before. */
  String reason() {
    return reason;
  }

  /** Returns whether the job has ended well; stays true after its members were released. */
  boolean finishedWell() {
    return finishedWell;
  }

  /** Starts the job: enough members are present. */
  void start() {
    state = JobPhase.RUNNING;
  }

  /** Starts the end: the last version is reached, and the result is requested. */
  void conclude(MemberRegistry registry) {
    state = JobPhase.FINISHING;
    decisions.accept(
        new Conclude(
            registry.servers().stream().map(MemberRecord::admission).toList(),
            registry.of(Role.EVALUATOR).stream().map(MemberRecord::admission).findFirst(),
            progress.version()));
  }

  /**
   * Ends the job with its result.
   *
   * @param silent names of servers whose last counters are not known
   */
  void finished(Optional<EvaluationResult> evaluation, List<String> silent) {
    state = JobPhase.FINISHED;
    reason = "finished";
    finishedWell = true;
    news.finished(progress);
    complete(
        new JobOutcome(
            state,
            progress.version(),
            progress.samples(),
            evaluation,
            silent,
            early,
            Optional.empty()));
  }

  /** Ends a job that cannot go on; an earlier end stays. */
  void failed(String why) {
    if (state.over()) {
      return;
    }
    state = JobPhase.FAILED;
    reason = why;
    news.failed(why);
    complete(failure(why));
    decisions.accept(new Stop(why));
  }

  /** Releases all members; an earlier result stays. */
  void stopped(String why) {
    if (state == JobPhase.STOPPED) {
      return;
    }
    state = JobPhase.STOPPED;
    reason = reason.isEmpty() ? why : reason;
    if (!complete) {
      news.stopped(why);
    }
    complete(failure("stopped: " + why));
    decisions.accept(new Stop(why));
  }

  private boolean turn(JobPhase from, JobPhase to) {
    boolean turns = state == from;
    state = turns ? to : state;
    return turns;
  }

  private void complete(JobOutcome outcome) {
    if (!complete) {
      complete = true;
      decisions.accept(new Complete(outcome));
    }
  }

  private JobOutcome failure(String why) {
    return new JobOutcome(
        state,
        progress.version(),
        progress.samples(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        Optional.of(why));
  }
}
