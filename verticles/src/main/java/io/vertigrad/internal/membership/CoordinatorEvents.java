package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.BatchesDivided;
import io.vertigrad.events.TrainingEvent.CheckpointsDelayed;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberDraining;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.Vitals;
import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.Decision.Announce;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.strategy.Membership;
import java.util.List;
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

  /** Announces a member, with its training samples if those are the job's from now on. */
  void joined(MemberRecord member, String data) {
    Admission admission = member.admission();
    announce(
        new MemberJoined(
            now(),
            admission.role(),
            admission.rank(),
            admission.incarnation(),
            member.node(),
            data));
  }

  void suspected(Admission member, long silentMillis) {
    announce(
        new MemberSuspected(
            now(), member.role(), member.rank(), member.incarnation(), silentMillis));
  }

  void stalled(
      long version, long stillMillis, String missing, String stragglers, String lastReports) {
    announce(new StallFound(now(), version, stillMillis, missing, stragglers, lastReports));
  }

  void left(Admission member, String reason) {
    announce(new MemberLeft(now(), member.role(), member.rank(), member.incarnation(), reason));
  }

  void drains(Admission member, String place) {
    announce(new MemberDraining(now(), member.role(), member.rank(), member.incarnation(), place));
  }

  void divided(long round, List<Integer> shares) {
    announce(new BatchesDivided(now(), round, shares));
  }

  void health(MemberRecord member, Vitals vitals) {
    Admission admission = member.admission();
    announce(
        new MemberVitals(
            now(),
            admission.role(),
            admission.rank(),
            admission.incarnation(),
            member.node(),
            vitals));
  }

  void started(CoordinatorConfig config, Membership first, long parameters) {
    announce(
        new JobStarted(
            now(),
            config.strategy(),
            first.workers().size(),
            first.servers().size(),
            parameters,
            config.steps(),
            config.lastVersion()));
  }

  void rolledBack(int shard, long known, long version, String reason) {
    announce(new ShardRolledBack(now(), shard, known, version, reason));
  }

  /** Announces that timed checkpoints are further apart than the job file says. */
  void checkpointsDelayed(double seconds, double wanted, String reason) {
    announce(new CheckpointsDelayed(now(), seconds, wanted, reason));
  }

  void testSkipped(long version, String reason) {
    announce(new EvaluationSkipped(now(), version, reason));
  }

  void paused() {
    announce(new JobPaused(now()));
  }

  void resumed(long pausedMillis) {
    announce(new JobResumed(now(), pausedMillis));
  }

  /** Announces a server's last counters, if its status has them; before the end is announced. */
  void lastCounters(MemberStatus status) {
    if (status instanceof ServerStatus server) {
      server.counters().ifPresent(this::announce);
    }
  }

  /**
   * Announces the outcome of one rank's updates at a server.
   *
   * @param completed steps that the rank's workers have completed
   */
  void updates(int server, RankUpdates updates, long completed) {
    long lost = updates.lost(completed);
    announce(
        new UpdatesCounted(
            now(),
            server,
            updates.rank(),
            updates.counts().arrived() + lost,
            updates.counts().applied(),
            updates.counts().late(),
            updates.counts().tooStale(),
            updates.counts().refused(),
            lost,
            updates.unexplained()));
  }

  /**
   * Announces the outcome of one rank's steps when workers hold the model.
   *
   * @param made highest version that the rank has reported
   * @param held the version of its replica
   */
  void steps(int rank, long made, long held) {
    announce(
        new UpdatesCounted(
            now(), UpdatesCounted.NO_SERVER, rank, made, held, 0, 0, 0, made - held, 0));
  }

  void ending(EarlyEnd reason) {
    announce(
        new JobEnding(
            now(), reason.reason(), reason.threshold(), reason.value(), reason.version()));
  }

  void finished(JobProgress progress) {
    announce(new JobFinished(now(), progress.version(), progress.samples()));
  }

  void stopped(String reason) {
    announce(new JobStopped(now(), reason));
  }

  void failed(String reason) {
    announce(new JobFailed(now(), reason));
  }

  private void announce(TrainingEvent event) {
    decisions.accept(new Announce(event));
  }

  private long now() {
    return wallMillis.getAsLong();
  }
}
