package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.CheckpointAgreement.Agreed;
import io.vertigrad.internal.worker.CheckpointAgreement.Rule;
import io.vertigrad.internal.worker.CheckpointAgreement.Statement;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.Peers;
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
 * What one incarnation of a worker with a whole model owes others besides its gradients: it waits
 * until every rank of the job is there, agrees with them on a version to go on from, keeps
 * checkpoints, and shows readers the versions that the evaluator may ask for, and the last.
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
  private boolean exact;
  private boolean settled;
  private boolean waits;

  /**
   * What the duties of every incarnation have in common.
   *
   * @param compresses true where the strategy remembers what compression has left out
   * @param evaluations when the evaluator may ask for a version
   */
  record Setting(
      JobConfig job,
      PeerStrategyFactory strategy,
      boolean compresses,
      EvaluationPlan evaluations,
      ReplicaCheckpoints checkpoints) {

    /** The duties' part of a job. */
    static Setting of(JobConfig job, PeerStrategyFactory strategy, ReplicaCheckpoints checkpoints) {
      return new Setting(
          job,
          strategy,
          job.exchange().compression().isOn(),
          EvaluationPlan.of(job, strategy),
          checkpoints);
    }

    /** Where replicas agree after each step, and remember no more, one gives to the others. */
    Rule rule() {
      return strategy.agreesEvery() == 1 && !compresses ? Rule.ANY_MEMORY : Rule.COMMON_STATE;
    }
  }

  WorkerDuties(Setting setting, Incarnation self, VectorModel model, SnapshotServer snapshots) {
    this.setting = setting;
    this.self = self;
    this.model = model;
    this.snapshots = snapshots;
    exact = model.isExact();
    saves =
        new ReplicaSaves(
            setting.checkpoints(), self.identity().rank(), self.identity().incarnation());
  }

  /**
   * Versions between two checkpoints, a multiple of those after which all replicas agree: between
   * two averages one worker may be far ahead of another.
   */
  static long checkpointEvery(JobConfig job, PeerStrategyFactory strategy) {
    long every = job.checkpoint().every();
    long agree = Math.max(1, strategy.agreesEvery());
    return (every + agree - 1) / agree * agree;
  }

  /**
   * How many checkpoints of a rank stay. In a graph one worker may be as many steps ahead of
   * another as there are workers between them, so that the last few are not enough.
   */
  static int checkpointKeep(JobConfig job, PeerStrategyFactory strategy) {
    long every = checkpointEvery(job, strategy);
    if (every == 0 || !strategy.needsEveryRank()) {
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

  /** Once the job is about to end early, nobody is admitted any more: those left finish it. */
  @Override
  public boolean reconsiders() {
    return waits && ending();
  }

  @Override
  public Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    if (!setting.strategy().needsEveryRank()) {
      goOnAlone(rule);
      return Optional.of(all);
    }
    String missing = missing(all);
    if (missing.isEmpty()) {
      goOn(peers, all, rule);
    } else if (!ending()) {
      waits = true;
      LOG.warn(
          "{}: version {} cannot go on without {}; the job waits for a replacement, at most {} s",
          name(),
          model.vector().updates(),
          missing,
          setting.job().workers().waitSeconds());
      return Optional.empty();
    }
    waits = false;
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
    if (!extra() && setting.checkpoints().due(version)) {
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

  /** Every rank is there: all of them go on from one version. */
  private void goOn(Peers peers, PeerGroup all, PeerStrategy rule) {
    exact &= all.size() == setting.job().workers().count();
    Optional<RunVersion> held = held(rule);
    Statement mine = new Statement(held, kept(held), extra(), exact);
    long anyRun = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    Agreed agreed =
        CheckpointAgreement.hold(peers, all, mine, setting.rule(), anyRun)
            .orElseThrow(
                () -> new ExchangeException(name() + ": no version that every worker can restore"));
    agreed.from().ifPresentOrElse(from -> become(from, held, rule), () -> keep(held));
    model.belongsTo(agreed.run(), rank(), exact);
    settled = true;
  }

  /** Every worker keeps its replica; one that has none is given it by the others. */
  private void keep(Optional<RunVersion> held) {
    if (!extra() && held.isPresent()) {
      remembered(held.get());
    }
  }

  /** Goes on from memory: what an earlier incarnation has reached is not initial. */
  private void remembered(RunVersion point) {
    if (fresh) {
      fresh = false;
      LOG.info("{}: goes on at version {}, which it has in memory", name(), point.version());
    }
  }

  /** A rank that goes its own pace goes on from its own newest checkpoint, if it holds nothing. */
  private void goOnAlone(PeerStrategy rule) {
    if (settled || extra()) {
      return;
    }
    settled = true;
    if (model.point().version() > 0) {
      remembered(model.point());
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

  private void become(RunVersion from, Optional<RunVersion> held, PeerStrategy rule) {
    long before = model.vector().updates();
    if (extra()) {
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
    } else if (held.equals(Optional.of(from))) {
      remembered(from);
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
   * What this worker holds, if all of it is here: a step that was given up may have left half, and
   * where replicas differ that of another rank is of no use.
   */
  private Optional<RunVersion> held(PeerStrategy rule) {
    RunVersion point = model.point();
    boolean own = model.isWhole() && model.rank() == rank();
    boolean usable = setting.rule() == Rule.ANY_MEMORY || own;
    boolean remembered = settled || rule.memory().length == 0;
    return point.version() > 0 && usable && remembered ? Optional.of(point) : Optional.empty();
  }

  /**
   * Any of them can restore the first parameters, which all make from the same seed. Where one
   * gives what it holds to the others, files do not matter to it.
   */
  private List<RunVersion> kept(Optional<RunVersion> held) {
    List<RunVersion> kept = new ArrayList<>(List.of(RunVersion.BEGINNING));
    if (!extra() && !(setting.rule() == Rule.ANY_MEMORY && held.isPresent())) {
      kept.addAll(setting.checkpoints().points(rank()));
    }
    return kept;
  }

  private Future<Path> write() {
    float[] remembered = memory.get();
    return saves.write(
        model.point().version(), model.point().run(), into -> model.copy(remembered, into));
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

  private boolean extra() {
    return rank() >= setting.job().workers().count();
  }

  private int rank() {
    return self.identity().rank();
  }

  private String name() {
    return setting.job().nameOf(Role.WORKER.lower(), rank());
  }
}
