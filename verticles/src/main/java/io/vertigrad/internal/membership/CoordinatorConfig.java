package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyTraits;
import java.util.UUID;

/**
 * The settings of a coordinator; all limits are in milliseconds.
 *
 * @param run name of the run, under which its checkpoints are kept
 * @param resumes how many coordinators the run had before; incarnations and epochs start above
 *     theirs
 * @param checkpointMillis least time between two timed checkpoints; 0 without timed checkpoints
 * @param writesCheckpoints false when no member writes checkpoints
 * @param terms settings that every member must agree on
 * @param strategy its name, for the start event
 * @param lockstep true when newcomers start at a round that all servers agree on
 * @param stepsTogether true when a pause lets every worker finish the step that one has started
 * @param endsEvery an early end comes at a multiple of this many versions
 * @param steps per worker
 * @param lastVersion version at which the job ends
 * @param servers exact number of servers that own a shard
 * @param workers number of workers that the start needs
 * @param workerCapacity most workers at once; with a sampler, one per share of the data
 * @param rememberedRanks number of ranks whose updates the servers remember; 0 without servers
 * @param minimumWorkers with fewer workers the job waits for more
 * @param holdsWhenTooFew true when the workers that are left start no step while there are too few
 * @param evaluators 0 or 1
 * @param waitMillis how long the job waits for members, at the start and when too few are left
 * @param evaluatorWaitMillis how long the start waits when only the evaluator is missing
 * @param suspectMillis silence after which a member is suspected
 * @param evictMillis silence after which a member is evicted
 * @param stallMillis time without a step of a worker after which a stall is announced
 * @param stop what ends the job before its last version
 * @param deadlineMillis how long training waits for an evaluator that makes no progress
 * @param evaluations when the model is tested, and whether training waits for the tests
 * @param names names of members in messages
 */
public record CoordinatorConfig(
    String run,
    int resumes,
    long checkpointMillis,
    boolean writesCheckpoints,
    JobTerms terms,
    String strategy,
    boolean lockstep,
    boolean stepsTogether,
    long endsEvery,
    long steps,
    long lastVersion,
    int servers,
    int workers,
    int workerCapacity,
    int rememberedRanks,
    int minimumWorkers,
    boolean holdsWhenTooFew,
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

  /** Upper bound on the number of memberships that one coordinator publishes. */
  private static final int EPOCHS_PER_COORDINATOR = 1 << 20;

  private static final long EVALUATOR_WAIT_MILLIS = 5_000;

  public static CoordinatorConfig of(JobConfig job, StrategyTraits traits) {
    int servers = traits.besideServers() ? job.servers().count() : 0;
    return new CoordinatorConfig(
        job.run().id().orElseGet(() -> UUID.randomUUID().toString()),
        job.run().resumes(),
        job.checkpoint().isTimed()
            ? Math.max(1, Math.round(1_000 * job.checkpoint().seconds()))
            : 0,
        job.checkpoint().isOn(),
        JobTerms.of(job),
        job.strategy().name(),
        traits.lockstep(),
        traits.stepsTogether(),
        traits.exchangesEvery(),
        job.steps(),
        traits.lastVersion(job.steps(), job.workers().count()),
        servers,
        job.workers().count(),
        job.workers().places(),
        traits.besideServers() ? job.workers().count() : 0,
        traits.needsEveryRank() ? job.workers().count() : job.workers().minimum(),
        job.pipeline().isEmpty(),
        job.evaluators(),
        1_000L * job.workers().waitSeconds(),
        EVALUATOR_WAIT_MILLIS,
        job.exchange().suspectMillis(),
        job.exchange().evictMillis(),
        job.exchange().stallMillis(),
        job.stop(),
        job.exchange().deadlineMillis(),
        EvaluationPlan.of(job, traits),
        MemberNames.of(job));
  }

  /** Returns why the job needs {@link #minimumWorkers}, for messages. */
  String minimumReason() {
    boolean all = lockstep && minimumWorkers == workers && (rememberedRanks > 0 || servers == 0);
    return all ? "a step needs every rank" : "workers.minimum";
  }

  /** Returns the incarnation of the first member of a rank that this coordinator admits. */
  int firstIncarnation() {
    return resumes * RunConfig.ADMISSIONS;
  }

  /** Returns the epoch before this coordinator's first membership. */
  int firstEpoch() {
    return resumes * EPOCHS_PER_COORDINATOR;
  }

  /** Returns how many members of a role may be present at once. */
  int capacity(Role role) {
    return switch (role) {
      case SERVER -> servers;
      case WORKER -> workerCapacity;
      case EVALUATOR -> 1;
    };
  }
}
