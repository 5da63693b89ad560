package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** How far a job is, and how it ends: evaluated, failed or stopped; its result is decided once. */
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

  /** True while steps are left to make, paused or not. */
  boolean running() {
    return state == JobPhase.RUNNING || state == JobPhase.PAUSED || ending();
  }

  /** True while workers are held back, for good or not. */
  boolean paused() {
    return state == JobPhase.PAUSED || ending();
  }

  /** True while steps that were begun before an early end are being finished. */
  boolean ending() {
    return state == JobPhase.ENDING;
  }

  /** True after the last step, while members are kept for what they hold. */
  boolean holdsResult() {
    return state == JobPhase.FINISHING || state == JobPhase.FINISHED;
  }

  /** Begins an early end; false when the job does not run, or ends already. */
  boolean end(EarlyEnd why) {
    boolean ends =
        turn(JobPhase.RUNNING, JobPhase.ENDING) || turn(JobPhase.PAUSED, JobPhase.ENDING);
    early = ends ? Optional.of(why) : early;
    return ends;
  }

  /** Holds workers back; false when that makes no sense. */
  boolean pause() {
    return turn(JobPhase.RUNNING, JobPhase.PAUSED);
  }

  /** Ends that; false when they were not held back. */
  boolean resume() {
    return turn(JobPhase.PAUSED, JobPhase.RUNNING);
  }

  /** Why it ended; empty before. */
  String reason() {
    return reason;
  }

  /** True once the job has come to a good end, also after its members were let go. */
  boolean finishedWell() {
    return finishedWell;
  }

  /** Enough members are there. */
  void start() {
    state = JobPhase.RUNNING;
  }

  /** The last version is reached: asks those who know for the result. */
  void conclude(MemberRegistry registry) {
    state = JobPhase.FINISHING;
    decisions.accept(
        new Conclude(
            registry.servers().stream().map(MemberRecord::admission).toList(),
            registry.of(Role.EVALUATOR).stream().map(MemberRecord::admission).findFirst(),
            progress.version()));
  }

  /**
   * The result is there.
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

  /** It cannot go on; an end that was there before stays. */
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

  /** Lets everybody go; a result that was there before stays. */
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
