package io.vertigrad.internal.membership;

import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyTraits;
import java.util.Optional;
import java.util.UUID;

/**
 * The settings of a coordinator.
 *
 * @param run with the name under which checkpoints are kept; incarnations and epochs start above
 *     those of its earlier coordinators
 * @param terms settings that every member must agree on
 * @param strategy its name, for the start event
 * @param traits how the strategy's workers move
 * @param steps per worker
 * @param lastVersion version at which the job ends
 * @param places how many members of each role there are
 * @param waitMillis how long the job waits for members, at the start and when too few are left
 * @param exchange after which silence a member is suspected and evicted, and other limits
 * @param checkpoint when members write checkpoints
 * @param stop what ends the job before its last version
 * @param evaluations when the model is tested, and whether training waits for the tests
 * @param names names of members in messages
 */
record CoordinatorConfig(
    RunConfig run,
    JobTerms terms,
    String strategy,
    StrategyTraits traits,
    long steps,
    long lastVersion,
    Places places,
    long waitMillis,
    ExchangeConfig exchange,
    CheckpointConfig checkpoint,
    StopConfig stop,
    EvaluationPlan evaluations,
    MemberNames names) {

  /** Upper bound on the number of memberships that one coordinator publishes. */
  private static final int EPOCHS_PER_COORDINATOR = 1 << 20;

  /**
   * How many members of each role there are.
   *
   * @param servers exact number of servers that own a shard
   * @param workers number of workers that the start needs
   * @param workerCapacity most workers at once; with a sampler, one per share of the data
   * @param rememberedRanks number of ranks whose updates the servers remember; 0 without servers
   * @param minimumWorkers with fewer workers the job waits for more
   * @param holdsWhenTooFew true when the workers that are left start no step while there are too
   *     few
   * @param evaluators 0 or 1
   */
  record Places(
      int servers,
      int workers,
      int workerCapacity,
      int rememberedRanks,
      int minimumWorkers,
      boolean holdsWhenTooFew,
      int evaluators) {

    /** Returns how many members of a role may be present at once. */
    int capacity(Role role) {
      return switch (role) {
        case SERVER -> servers;
        case WORKER -> workerCapacity;
        case EVALUATOR -> 1;
      };
    }
  }

  static CoordinatorConfig of(JobConfig job, StrategyTraits traits) {
    int servers = traits.besideServers() ? job.servers().count() : 0;
    int workers = job.workers().count();
    String run = job.run().id().orElseGet(() -> UUID.randomUUID().toString());
    return new CoordinatorConfig(
        new RunConfig(Optional.of(run), job.run().resumes()),
        JobTerms.of(job),
        job.strategy().name(),
        traits,
        job.steps(),
        traits.lastVersion(job.steps(), workers),
        new Places(
            servers,
            workers,
            job.workers().places(),
            traits.besideServers() ? workers : 0,
            traits.needsEveryRank() ? workers : job.workers().minimum(),
            job.pipeline().isEmpty(),
            job.evaluators()),
        1_000L * job.workers().waitSeconds(),
        job.exchange(),
        job.checkpoint(),
        job.stop(),
        EvaluationPlan.of(job, traits),
        MemberNames.of(job));
  }

  /** Returns why the job needs {@link Places#minimumWorkers}, for messages. */
  String minimumReason() {
    boolean all =
        traits.lockstep()
            && places.minimumWorkers() == places.workers()
            && (places.rememberedRanks() > 0 || places.servers() == 0);
    return all ? "a step needs every rank" : "workers.minimum";
  }

  /** Returns the epoch before this coordinator's first membership. */
  int firstEpoch() {
    return run.resumes() * EPOCHS_PER_COORDINATOR;
  }
}
