package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.BackupChanged;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
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
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.internal.membership.Decision.Announce;
import io.vertigrad.strategy.Membership;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Announces changes of the coordinator's state as training events. */
final class CoordinatorEvents {

  private final Consumer<Decision> decisions;
  private final LongSupplier wallMillis;

  /**
   * Creates a publisher that adds the time to each event.
   *
   * @param decisions receives the events
   * @param wallMillis milliseconds since 1970
   */
  CoordinatorEvents(Consumer<Decision> decisions, LongSupplier wallMillis) {
    this.decisions = decisions;
    this.wallMillis = wallMillis;
  }

  void joined(MemberRecord who) {
    Admission is = who.admission();
    decisions.accept(
        new Announce(
            new MemberJoined(now(), is.role().lower(), is.rank(), is.incarnation(), who.node())));
  }

  void suspected(Admission who, long silentMillis) {
    decisions.accept(
        new Announce(
            new MemberSuspected(
                now(), who.role().lower(), who.rank(), who.incarnation(), silentMillis)));
  }

  void stalled(long version, long stillMillis, String missing, String waits, String heard) {
    decisions.accept(
        new Announce(new StallFound(now(), version, stillMillis, missing, waits, heard)));
  }

  void left(Admission who, String why) {
    decisions.accept(
        new Announce(
            new MemberLeft(now(), who.role().lower(), who.rank(), who.incarnation(), why)));
  }

  void health(MemberRecord who, ProcessVitals vitals) {
    Admission is = who.admission();
    decisions.accept(
        new Announce(
            ProcessHealth.event(
                now(), is.role().lower(), is.rank(), is.incarnation(), who.node(), vitals)));
  }

  void started(CoordinatorConfig config, Membership first, long parameters) {
    decisions.accept(
        new Announce(
            new JobStarted(
                now(),
                config.strategy(),
                first.workers().size(),
                first.servers().size(),
                parameters,
                config.steps(),
                config.lastVersion())));
  }

  void backupChanged(int shard, boolean complete, String reason) {
    decisions.accept(new Announce(new BackupChanged(now(), shard, complete, reason)));
  }

  void rolledBack(int shard, long known, long version) {
    decisions.accept(new Announce(new ShardRolledBack(now(), shard, known, version)));
  }

  void testSkipped(long version, String why) {
    decisions.accept(new Announce(new EvaluationSkipped(now(), version, why)));
  }

  void paused() {
    decisions.accept(new Announce(new JobPaused(now())));
  }

  void resumed(long pausedMillis) {
    decisions.accept(new Announce(new JobResumed(now(), pausedMillis)));
  }

  /** Announces a server's last counters, if its status has them; before the end is announced. */
  void counted(MemberStatus status) {
    status.counters().ifPresent(counters -> decisions.accept(new Announce(counters)));
  }

  /**
   * Announces the outcome of one rank's updates at a server.
   *
   * @param completed steps that the rank's workers have completed
   */
  void updates(int server, RankUpdates of, long completed) {
    long lost = of.lost(completed);
    decisions.accept(
        new Announce(
            new UpdatesCounted(
                now(),
                server,
                of.rank(),
                of.counts().arrived() + lost,
                of.counts().applied(),
                of.counts().late(),
                of.counts().tooStale(),
                of.counts().refused(),
                lost,
                of.unexplained())));
  }

  /**
   * Announces the outcome of one rank's steps when workers hold the model.
   *
   * @param made highest version that the rank has reported
   * @param held the version of its replica
   */
  void steps(int rank, long made, long held) {
    decisions.accept(
        new Announce(
            new UpdatesCounted(
                now(), UpdatesCounted.NO_SERVER, rank, made, held, 0, 0, 0, made - held, 0)));
  }

  void ending(EarlyEnd why) {
    decisions.accept(
        new Announce(
            new JobEnding(now(), why.reason(), why.threshold(), why.value(), why.version())));
  }

  void finished(JobProgress progress) {
    decisions.accept(new Announce(new JobFinished(now(), progress.version(), progress.samples())));
  }

  void stopped(String why) {
    decisions.accept(new Announce(new JobStopped(now(), why)));
  }

  void failed(String why) {
    decisions.accept(new Announce(new JobFailed(now(), why)));
  }

  private long now() {
    return wallMillis.getAsLong();
  }
}
