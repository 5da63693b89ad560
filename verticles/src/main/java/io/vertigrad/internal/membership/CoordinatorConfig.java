package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import java.util.UUID;

/**
 * What a coordinator's state decides by; all limits in milliseconds.
 *
 * @param run name of the run, under which its checkpoints are kept
 * @param resumes how many coordinators the run has had before: ranks and memberships are numbered
 *     above theirs
 * @param checkpointMillis least time between two checkpoints that are written by time; 0 where none
 *     are
 * @param checkpoints false where a member that is the only one with its part of the model loses it
 *     with its process
 * @param terms what every member must agree on
 * @param strategy its name, for the start event
 * @param lockstep newcomers start at a round agreed with all servers
 * @param stepsTogether a pause lets everyone finish the step that somebody has begun
 * @param endsEvery an early end comes after a multiple of so many versions
 * @param steps per worker
 * @param lastVersion version at which the job ends
 * @param servers exactly so many
 * @param backups servers beyond those that stand by for one of them
 * @param workers so many to start with
 * @param places most workers at once: with a sampler that shares the data out, one per share
 * @param ranks that the job is shared out to for good where servers remember each rank's updates; 0
 *     elsewhere
 * @param minimumWorkers with fewer the job waits for more
 * @param waitsForMore with fewer, those left begin no step either
 * @param evaluators 0 or 1
 * @param waitMillis how long it waits for members, at the start and when too few are left
 * @param evaluatorWaitMillis how long a start waits for the evaluator alone
 * @param suspectMillis silence after which a member is suspected
 * @param evictMillis silence after which it is evicted
 * @param stallMillis without a step of a worker for this long the world is told who is missing
 * @param stop what ends the job before its last version
 * @param deadlineMillis how long training waits for an evaluator that does nothing
 * @param evaluations when the model is tested, and whether training waits for that
 * @param names what members are called
 */
public record CoordinatorConfig(
    String run,
    int resumes,
    long checkpointMillis,
    boolean checkpoints,
    JobTerms terms,
    String strategy,
    boolean lockstep,
    boolean stepsTogether,
    long endsEvery,
    long steps,
    long lastVersion,
    int servers,
    int backups,
    int workers,
    int places,
    int ranks,
    int minimumWorkers,
    boolean waitsForMore,
    int evaluators,
    long waitMillis,
    long evaluatorWaitMillis,
    long suspectMillis,
    long evictMillis,
    long stallMillis,
    StopConfig stop,
    long deadlineMillis,
    EvaluationPlan evaluations,
    MemberNames names) {

  /** More memberships than one coordinator publishes. */
  private static final int EPOCHS = 1 << 20;

  private static final long EVALUATOR_WAIT_MILLIS = 5_000;

  public static CoordinatorConfig of(JobConfig job, StrategyFactory strategy) {
    return new CoordinatorConfig(
        job.run().id().orElseGet(() -> UUID.randomUUID().toString()),
        job.run().resumes(),
        job.checkpoint().isTimed()
            ? Math.max(1, Math.round(1_000 * job.checkpoint().seconds()))
            : 0,
        job.checkpoint().isOn(),
        JobTerms.of(job),
        job.strategy().name(),
        strategy.lockstep(),
        strategy.stepsTogether(),
        endsEvery(strategy),
        job.steps(),
        strategy.lastVersion(job.steps(), job.workers().count()),
        strategy.servers(job.servers().count()),
        strategy.servers(job.servers().count()) * job.servers().replicas(),
        job.workers().count(),
        job.workers().places(),
        strategy.servers(1) > 0 ? job.workers().count() : 0,
        strategy.needsEveryRank() ? job.workers().count() : job.workers().minimum(),
        job.pipeline().isEmpty(),
        job.evaluators(),
        1_000L * job.workers().waitSeconds(),
        EVALUATOR_WAIT_MILLIS,
        job.exchange().suspectMillis(),
        job.exchange().evictMillis(),
        job.exchange().stallMillis(),
        job.stop(),
        job.exchange().deadlineMillis(),
        EvaluationPlan.of(job, strategy),
        MemberNames.of(job));
  }

  /** Why fewer than {@link #minimumWorkers} cannot go on, for people. */
  String whyMinimum() {
    boolean all = lockstep && minimumWorkers == workers && (ranks > 0 || servers == 0);
    return all ? "a step needs every rank" : "workers.minimum";
  }

  /** The incarnation of the first member of a rank that this coordinator admits. */
  int firstIncarnation() {
    return resumes * RunConfig.ADMISSIONS;
  }

  /** The epoch before this coordinator's first membership. */
  int firstEpoch() {
    return resumes * EPOCHS;
  }

  /** How many of a role may be present at once. */
  int capacity(Role role) {
    return switch (role) {
      case SERVER -> servers + backups;
      case WORKER -> places;
      case EVALUATOR -> 1;
    };
  }

  /** Where replicas agree only now and then, the end is when they do. */
  private static long endsEvery(StrategyFactory strategy) {
    return strategy instanceof PeerStrategyFactory peers ? Math.max(1, peers.agreesEvery()) : 1;
  }
}
