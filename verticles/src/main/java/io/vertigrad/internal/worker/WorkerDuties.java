package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.CheckpointAgreement.Agreed;
import io.vertigrad.internal.worker.CheckpointAgreement.Rule;
import io.vertigrad.internal.worker.CheckpointAgreement.Statement;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The work that an incarnation of a worker with a whole model does for others. It waits until every
 * rank of the job is there, agrees with them on a version to continue from, and writes checkpoints.
 * It also serves readers the versions that the evaluator may ask for, and the last version.
 */
final class WorkerDuties implements ReplicaDuties {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerDuties.class);

  private final Setting setting;
  private final Incarnation self;
  private final VectorModel model;
  private final SnapshotServer snapshots;
  private final ReplicaSaves saves;
  private Supplier<float[]> memory = () -> new float[0];
  private boolean fresh = true;
  private boolean repeatable;
  private boolean settled;
  private boolean waitingForRanks;

  /**
   * The settings that the duties of all incarnations share.
   *
   * @param compresses true if the strategy keeps the residual of compression in its memory
   * @param evaluations the versions that the evaluator may ask for
   */
  record Setting(
      JobConfig job,
      StrategyTraits traits,
      boolean compresses,
      EvaluationPlan evaluations,
      ReplicaCheckpoints checkpoints) {

    /** Returns the setting of a job. */
    static Setting of(JobConfig job, StrategyTraits traits, ReplicaCheckpoints checkpoints) {
      return new Setting(
          job,
          traits,
          job.exchange().compression().isOn(),
          EvaluationPlan.of(job, traits),
          checkpoints);
    }

    /**
     * If replicas are equal after each step and have no residual, one can send its state to all.
     */
    Rule agreementRule() {
      return traits.agreesEvery() == 1 && !compresses ? Rule.ANY_MEMORY : Rule.COMMON_STATE;
    }
  }

  WorkerDuties(Setting setting, Incarnation self, VectorModel model, SnapshotServer snapshots) {
    this.setting = setting;
    this.self = self;
    this.model = model;
    this.snapshots = snapshots;
    repeatable = model.isRepeatable();
    saves =
        new ReplicaSaves(
            setting.checkpoints(), self.identity().rank(), self.identity().incarnation());
  }

  /**
   * Returns the number of versions between two checkpoints. It is a multiple of the interval at
   * which all replicas agree, because between two averages one worker may be far ahead of another.
   */
  static long checkpointEvery(JobConfig job, StrategyTraits traits) {
    long every = job.checkpoint().every();
    long agree = Math.max(1, traits.agreesEvery());
    return (every + agree - 1) / agree * agree;
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

  @Override
  public FrameEndpoint endpoint() {
    return snapshots;
  }

  @Override
  public void remembers(Supplier<float[]> strategyMemory) {
    memory = strategyMemory;
  }

  /** Once the job is about to end early, nobody is admitted: the remaining workers finish it. */
  @Override
  public boolean reconsiders() {
    return waitingForRanks && ending();
  }

  @Override
  public Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    if (!setting.traits().needsEveryRank()) {
      continueAlone(rule);
      return Optional.of(all);
    }
    String missing = missing(all);
    if (missing.isEmpty()) {
      agree(peers, all, rule);
    } else if (!ending()) {
      waitingForRanks = true;
      LOG.warn(
          "{}: version {} cannot go on without {}; the job waits for a replacement, at most {} s",
          name(),
          model.vector().updates(),
          missing,
          setting.job().workers().waitSeconds());
      return Optional.empty();
    }
    waitingForRanks = false;
    return Optional.of(all);
  }

  @Override
  public void changing() {
    saves.changing();
  }

  @Override
  public boolean fresh() {
    return fresh;
  }

  @Override
  public void stepped(long version) {
    if (!isBeyondRanks() && setting.checkpoints().due(version)) {
      write();
    }
  }

  @Override
  public void reached(long version, float[] parameters, boolean last) {
    fresh = false;
    model.reached(version);
    if (last || version == 0 || setting.evaluations().isDue(version)) {
      snapshots.publish(version, parameters);
    }
  }

  @Override
  public void hold(long version, float[] parameters) {
    snapshots.publish(version, parameters);
  }

  @Override
  public void end(long version, float[] parameters) {
    snapshots.publish(version, parameters);
  }

  @Override
  public void idle() {
    saves.idle(() -> settled ? write() : Future.failedFuture("%s has not begun".formatted(name())));
  }

  @Override
  public Future<Path> checkpoint() {
    return saves.ask();
  }

  @Override
  public Future<?> close() {
    saves.close("this worker is stopping");
    return Future.succeededFuture();
  }

  /** Continues from one version with all other ranks. */
  private void agree(Peers peers, PeerGroup all, PeerStrategy rule) {
    repeatable &= all.size() == setting.job().workers().count();
    Optional<RunVersion> usable = usableState(rule);
    Statement statement =
        new Statement(usable, restorableStates(usable), isBeyondRanks(), repeatable);
    long newRun = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    Agreed agreed =
        CheckpointAgreement.hold(peers, all, statement, setting.agreementRule(), newRun)
            .orElseThrow(
                () -> new ExchangeException(name() + ": no version that every worker can restore"));
    agreed
        .from()
        .ifPresentOrElse(from -> restoreOrKeep(from, usable, rule), () -> keepReplica(usable));
    model.setOrigin(agreed.run(), rank(), repeatable);
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
    setting.checkpoints().points(rank()).stream()
        .max(Comparator.comparingLong(RunVersion::version))
        .ifPresent(
            newest -> {
              model.restore(setting.checkpoints().restore(rank(), newest), rule);
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
        LOG.info(
            "{}: was at version {}, begins anew: no later version is whole in all workers",
            name(),
            before);
      }
    } else if (usable.equals(Optional.of(from))) {
      markContinued(from);
    } else {
      model.restore(setting.checkpoints().restore(rank(), from), rule);
      fresh = false;
      LOG.info(
          "{}: was at version {}, goes on at {}, from its checkpoint",
          name(),
          before,
          from.version());
    }
  }

  /**
   * Returns the state in memory if it is usable. A step that was given up may have changed a part
   * of it, and where replicas differ, the replica of another rank is not usable.
   */
  private Optional<RunVersion> usableState(PeerStrategy rule) {
    RunVersion state = model.state();
    boolean own = model.isComplete() && model.rank() == rank();
    boolean suitable = setting.agreementRule() == Rule.ANY_MEMORY || own;
    boolean hasMemory = settled || rule.memory().length == 0;
    return state.version() > 0 && suitable && hasMemory ? Optional.of(state) : Optional.empty();
  }

  /**
   * Returns the states that this worker can restore. Every worker can restore the initial
   * parameters, which follow from the seed. A worker that can send its state to all others does not
   * need files.
   */
  private List<RunVersion> restorableStates(Optional<RunVersion> usable) {
    List<RunVersion> states = new ArrayList<>(List.of(RunVersion.BEGINNING));
    if (!isBeyondRanks() && !(setting.agreementRule() == Rule.ANY_MEMORY && usable.isPresent())) {
      states.addAll(setting.checkpoints().points(rank()));
    }
    return states;
  }

  private Future<Path> write() {
    float[] copied = memory.get();
    return saves.write(
        model.state().version(), model.state().run(), into -> model.copy(copied, into));
  }

  private String missing(PeerGroup all) {
    return IntStream.range(0, setting.job().workers().count())
        .filter(rank -> !all.ranks().contains(rank))
        .mapToObj(rank -> setting.job().nameOf(Role.WORKER.lower(), rank))
        .collect(Collectors.joining(", "));
  }

  private boolean ending() {
    return self.gate().ended(Long.MAX_VALUE);
  }

  private boolean isBeyondRanks() {
    return rank() >= setting.job().workers().count();
  }

  private int rank() {
    return self.identity().rank();
  }

  private String name() {
    return setting.job().nameOf(Role.WORKER.lower(), rank());
  }
}
