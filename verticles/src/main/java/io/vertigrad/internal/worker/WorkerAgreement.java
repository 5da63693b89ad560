package io.vertigrad.internal.worker;

import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.StrategyTraits;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agreement of workers with a whole model. An incarnation waits until every rank of the job is
 * there, and continues from the version that the coordinator chooses: one in memory or in
 * checkpoints.
 */
final class WorkerAgreement implements ReplicaAgreement {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerAgreement.class);

  private final JobConfig job;
  private final StrategyTraits traits;
  private final ReplicaCheckpoints checkpoints;
  private final Incarnation self;
  private final VectorModel model;
  private final Function<Candidates, Choice> versions;
  private boolean fresh = true;
  private boolean repeatable;
  private boolean settled;
  private boolean waitingForRanks;

  /**
   * Creates the agreement of an incarnation.
   *
   * @param versions returns the state that all workers continue from, when all have asked
   */
  WorkerAgreement(
      JobConfig job,
      StrategyTraits traits,
      ReplicaCheckpoints checkpoints,
      Incarnation self,
      VectorModel model,
      Function<Candidates, Choice> versions) {
    this.job = job;
    this.traits = traits;
    this.checkpoints = checkpoints;
    this.self = self;
    this.model = model;
    this.versions = versions;
    repeatable = model.isRepeatable();
  }

  /**
   * Returns the number of versions between two checkpoints. It is a multiple of the interval at
   * which workers exchange, because between two exchanges one worker may be far ahead of another.
   */
  static long checkpointEvery(JobConfig job, StrategyTraits traits) {
    long every = job.checkpoint().every();
    long exchanges = traits.exchangesEvery();
    return (every + exchanges - 1) / exchanges * exchanges;
  }

  /**
   * Returns how many checkpoints of a rank are kept. In a graph, one worker may be as many steps
   * ahead of another as there are workers between them. The last few checkpoints are then not
   * enough.
   */
  static int checkpointKeep(JobConfig job, StrategyTraits traits) {
    long every = checkpointEvery(job, traits);
    if (every == 0 || !traits.needsEveryRank()) {
      return job.checkpoint().keep();
    }
    int count = job.workers().count();
    return Math.max(job.checkpoint().keep(), 3 + (int) ((count + every - 1) / every));
  }

  /** Returns the checkpoints of one incarnation. Those of a rank beyond the job's are not kept. */
  static ReplicaSaves saves(JobConfig job, ReplicaCheckpoints checkpoints, Incarnation self) {
    int rank = self.identity().rank();
    return new ReplicaSaves(
        checkpoints, rank, self.identity().incarnation(), rank < job.workers().count());
  }

  /** Once the job is about to end early, nobody is admitted: the remaining workers finish it. */
  @Override
  public boolean reconsiders() {
    return waitingForRanks && ending();
  }

  @Override
  public Optional<PeerGroup> settle(PeerGroup all, PeerStrategy rule) {
    if (!traits.needsEveryRank()) {
      continueAlone(rule);
      return Optional.of(all);
    }
    String missing = missing(all);
    if (missing.isEmpty()) {
      agree(all, rule);
    } else if (!ending()) {
      waitingForRanks = true;
      LOG.warn(
          "{}: version {} cannot go on without {}; the job waits for a replacement, at most {} s",
          name(),
          model.vector().updates(),
          missing,
          job.workers().waitSeconds());
      return Optional.empty();
    }
    waitingForRanks = false;
    return Optional.of(all);
  }

  @Override
  public boolean isFresh() {
    return fresh;
  }

  @Override
  public boolean isSettled() {
    return settled;
  }

  @Override
  public void reached() {
    fresh = false;
  }

  /** Continues from one version with all other ranks. */
  private void agree(PeerGroup all, PeerStrategy rule) {
    repeatable &= all.size() == job.workers().count();
    Optional<RunVersion> usable = usableState(rule);
    List<RunVersion> restorable = restorableStates(usable, rule);
    boolean differs = kindOf(rule) == Rule.COMMON_STATE && !isBeyondRanks();
    Choice choice =
        versions.apply(
            new Candidates(
                new Admission(Role.WORKER, rank(), self.identity().incarnation()),
                all.epoch(),
                kindOf(rule),
                usable,
                restorable,
                checkpoints.copies().map(each -> each.held(differs)).orElse(List.of()),
                isBeyondRanks(),
                repeatable));
    long run =
        choice
            .run()
            .orElseThrow(
                () -> new ExchangeException(name() + ": no version that every worker can restore"));
    choice
        .from()
        .ifPresentOrElse(from -> restoreOrKeep(from, usable, rule), () -> keepReplica(usable));
    model.setOrigin(run, rank(), repeatable);
    settled = true;
  }

  /** Every worker keeps its replica. One that has none gets it from the others. */
  private void keepReplica(Optional<RunVersion> usable) {
    if (!isBeyondRanks() && usable.isPresent()) {
      markContinued(usable.get());
    }
  }

  /** Continues from memory: a version that an earlier incarnation reached is not initial. */
  private void markContinued(RunVersion state) {
    if (fresh) {
      fresh = false;
      LOG.info("{}: goes on at version {}, which it has in memory", name(), state.version());
    }
  }

  /** For ranks that train independently: continues from memory or from the newest checkpoint. */
  private void continueAlone(PeerStrategy rule) {
    if (settled || isBeyondRanks()) {
      return;
    }
    settled = true;
    if (model.state().version() > 0) {
      markContinued(model.state());
      return;
    }
    checkpoints.points(rank()).stream()
        .max(Comparator.comparingLong(RunVersion::version))
        .ifPresent(
            newest -> {
              model.restore(checkpoints.restore(rank(), newest, self.stop()), rule);
              fresh = false;
              LOG.info("{}: goes on at {}", name(), newest.version());
            });
  }

  private void restoreOrKeep(RunVersion from, Optional<RunVersion> usable, PeerStrategy rule) {
    long before = model.vector().updates();
    if (isBeyondRanks()) {
      model.vector().resume(from.version(), model.vector().samples());
    } else if (from.version() == 0) {
      model.restart(rule);
      fresh = true;
      if (before > 0) {
        LOG.warn(
            "{}: was at version {}, begins anew: no later version is whole in all workers",
            name(),
            before);
      }
    } else if (usable.equals(Optional.of(from))) {
      markContinued(from);
    } else {
      model.restore(checkpoints.restore(rank(), from, self.stop()), rule);
      fresh = false;
      LOG.info("{}: was at version {}, goes on at {}", name(), before, from.version());
    }
  }

  /**
   * Returns the state in memory if it is usable. A step that was given up may have changed a part
   * of it, and where replicas differ, the replica of another rank is not usable.
   */
  private Optional<RunVersion> usableState(PeerStrategy rule) {
    RunVersion state = model.state();
    boolean own = model.isComplete() && model.rank() == rank();
    boolean suitable = kindOf(rule) == Rule.ANY_MEMORY || own;
    boolean hasMemory = settled || rule.memory().length == 0;
    return state.version() > 0 && suitable && hasMemory ? Optional.of(state) : Optional.empty();
  }

  /**
   * Returns the states that this worker can restore. Every worker can restore the initial
   * parameters, which follow from the seed. A worker that can send its state to all others does not
   * need files.
   */
  private List<RunVersion> restorableStates(Optional<RunVersion> usable, PeerStrategy rule) {
    List<RunVersion> states = new ArrayList<>(List.of(RunVersion.BEGINNING));
    if (!isBeyondRanks() && !(kindOf(rule) == Rule.ANY_MEMORY && usable.isPresent())) {
      states.addAll(checkpoints.points(rank()));
    }
    return states;
  }

  /**
   * If replicas are equal after each step, and the strategy has no memory such as the residual of
   * compression, one can send its state to all.
   */
  private Rule kindOf(PeerStrategy rule) {
    boolean equal = traits.agreesEvery() == 1 && rule.memory().length == 0;
    return equal ? Rule.ANY_MEMORY : Rule.COMMON_STATE;
  }

  private String missing(PeerGroup all) {
    return IntStream.range(0, job.workers().count())
        .filter(rank -> !all.ranks().contains(rank))
        .mapToObj(rank -> job.nameOf(Role.WORKER.lower(), rank))
        .collect(Collectors.joining(", "));
  }

  private boolean ending() {
    return self.gate().ended(Long.MAX_VALUE);
  }

  private boolean isBeyondRanks() {
    return rank() >= job.workers().count();
  }

  private int rank() {
    return self.identity().rank();
  }

  private String name() {
    return job.nameOf(Role.WORKER.lower(), rank());
  }
}
