package io.vertigrad.internal.server;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.Scalars;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardConfig;
import io.vertigrad.internal.shard.UpdateOutcomes;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Assembles a shard for an admission: parameters, strategy, and a predecessor's checkpoint. */
final class ShardAssembly {

  private static final Logger LOG = LoggerFactory.getLogger(ShardAssembly.class);

  private final Vertx vertx;
  private final Context context;
  private final StrategyFinder finder;
  private final JobConfig job;
  private final EventPublisher events;
  private final StrategyFactory strategy;
  private final LongSupplier pausableClock;
  private final SpanRecorder track;
  private final Consumer<MemberStatus> report;
  private final Runnable onStrategyUndeployed;

  /**
   * Creates the assembly of one job, on the server's context.
   *
   * @param finder finds the strategy verticle beside a shard
   * @param pausableClock monotonic nanoseconds that limit how long workers and readers wait
   * @param track records each update
   * @param report receives a shard's status twice a second, on any thread
   * @param onStrategyUndeployed called when the strategy verticle beside a shard is undeployed
   */
  ShardAssembly(
      Vertx vertx,
      Context context,
      JobConfig job,
      StrategyFinder finder,
      LongSupplier pausableClock,
      SpanRecorder track,
      Consumer<MemberStatus> report,
      Runnable onStrategyUndeployed) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.finder = finder;
    this.pausableClock = pausableClock;
    this.track = track;
    this.report = report;
    this.onStrategyUndeployed = onStrategyUndeployed;
    events = new EventPublisher(vertx, job.addresses());
    strategy = StrategyProviders.configure(job.strategy(), ShardAssembly.class.getClassLoader());
  }

  /**
   * Assembles a shard that does not take frames yet. It goes back to {@code kept} or to a valid
   * checkpoint of this run, whichever is newer, or else to the initial parameters.
   *
   * @param kept the shard's state from memory
   * @param run name of the run that checkpoints belong to
   * @param from version of the checkpoint that all servers go back to; empty for the newest
   */
  Future<ShardService> assemble(
      InitialModel model,
      Admission admission,
      Optional<Checkpoint> kept,
      String run,
      OptionalLong from) {
    CheckpointSchedule checkpoints = checkpoints(run, admission, model.fingerprints());
    Scalars scalars =
        Scalars.of(vertx, job.addresses().job(), Role.SERVER.lower() + " " + admission.rank());
    return checkpoints
        .open()
        .compose(opened -> newest(kept, checkpoints, from))
        .compose(
            snapshot ->
                vertx
                    .executeBlocking(() -> shard(model, admission, snapshot, checkpoints, scalars))
                    .compose(
                        shard ->
                            finder
                                .beside(admission.rank(), admission.incarnation())
                                .map(
                                    host ->
                                        service(admission, shard, checkpoints, scalars, host))));
  }

  private static Future<Optional<Checkpoint>> newest(
      Optional<Checkpoint> kept, CheckpointSchedule checkpoints, OptionalLong from) {
    long version = kept.map(Checkpoint::version).orElse(-1L);
    if (kept.isPresent() && checkpoints.newest() <= version) {
      return Future.succeededFuture(kept);
    }
    return checkpoints
        .read(from)
        .map(read -> read.filter(found -> found.version() > version).or(() -> kept));
  }

  private CheckpointSchedule checkpoints(
      String run, Admission admission, Map<String, DataFingerprint> fingerprints) {
    return new CheckpointSchedule(
        vertx, job, run, admission.rank(), strategy.traits().lockstep(), fingerprints);
  }

  private Shard shard(
      InitialModel model,
      Admission admission,
      Optional<Checkpoint> snapshot,
      CheckpointSchedule checkpoints,
      Scalars scalars) {
    ParameterStore store = model.store(job, strategy, admission.rank());
    store.recordOn(track);
    store.reportTo(scalars);
    Shard shard =
        new Shard(
            new ShardConfig(
                job.addresses().jobHash(),
                job.strategy().name(),
                admission.incarnation(),
                job.workers().count(),
                strategy.traits().lastVersion(job.steps(), job.workers().count()),
                job.exchange().deadlineMillis(),
                job.exchange().maxMagnitude()),
            store,
            rules(),
            pausableClock,
            new UpdateOutcomes(admission.rank(), System::nanoTime, events::publish),
            () -> new PartitionLedger(job.workers().count()));
    shard.testAt(firstTest());
    snapshot.ifPresent(shard::restore);
    if (checkpoints.isKnown()) {
      shard.markRestoredFromStart();
    }
    snapshot.ifPresent(past -> LOG.info("{} goes on at version {}", admission, past.version()));
    return shard;
  }

  /**
   * Returns the strategy, of which this shard has the rules. The coordinator admits no server if
   * there are none.
   */
  private StrategyFactory rules() {
    if (!strategy.traits().besideServers()) {
      throw new IllegalStateException(
          "%s: strategy %s runs beside workers, expected one that runs beside servers"
              .formatted(job.origin(), job.strategy().name()));
    }
    return strategy;
  }

  /**
   * Returns the first test at which updates stop. In rounds, the workers themselves wait for tests.
   */
  private long firstTest() {
    EvaluationPlan plan = EvaluationPlan.of(job, strategy.traits());
    return plan.perGradient() ? plan.firstHold() : EvaluationPlan.NONE;
  }

  private ShardService service(
      Admission admission,
      Shard shard,
      CheckpointSchedule checkpoints,
      Scalars scalars,
      StrategyHost host) {
    host.endsWith(() -> context.runOnContext(go -> onStrategyUndeployed.run()));
    return new ShardService(
        context,
        job,
        admission,
        shard,
        checkpoints,
        scalars,
        finder,
        host,
        pausableClock,
        report,
        events::publish);
  }
}
