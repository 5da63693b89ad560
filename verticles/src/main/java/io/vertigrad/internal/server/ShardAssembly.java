package io.vertigrad.internal.server;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.internal.backup.BackupService;
import io.vertigrad.internal.backup.ShardBackup;
import io.vertigrad.internal.backup.ShardReplication;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardConfig;
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
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Assembles a shard for an admission: parameters, strategy, and a predecessor's checkpoint or copy.
 */
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

  /** A shard and what can keep a backup of it. */
  private record FollowedShard(Shard shard, ShardReplication replication) {

    FollowedShard continueWith(ShardBackup backup) {
      shard.continueWith(backup::updates);
      return this;
    }
  }

  /**
   * Creates the assembly of one job, on the server's context.
   *
   * @param pausableClock monotonic nanoseconds that limit how long workers and readers wait
   * @param track records each update
   * @param report receives a shard's status twice a second, on any thread
   * @param onStrategyUndeployed called when the strategy verticle beside a shard is undeployed
   */
  ShardAssembly(
      Vertx vertx,
      Context context,
      JobConfig job,
      LongSupplier pausableClock,
      SpanRecorder track,
      Consumer<MemberStatus> report,
      Runnable onStrategyUndeployed) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.finder = new StrategyFinder(vertx, context, job, Role.SERVER);
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
      Optional<ShardSnapshot> kept,
      String run,
      OptionalLong from) {
    CheckpointSchedule checkpoints = checkpoints(run, admission, model.fingerprints());
    return checkpoints
        .open()
        .compose(opened -> newest(kept, checkpoints, from))
        .compose(
            snapshot ->
                remoteStrategy(admission.rank())
                    .compose(
                        remote ->
                            vertx
                                .executeBlocking(
                                    () -> shard(model, admission, snapshot, checkpoints, remote))
                                .compose(
                                    followed -> serve(admission, followed, checkpoints, remote))));
  }

  private Future<Optional<RemoteStrategy>> remoteStrategy(int rank) {
    return finder
        .elsewhere(rank)
        .map(found -> found.map(link -> new RemoteStrategy(vertx, job, link, pausableClock)));
  }

  /**
   * Runs the shard on the event loop of a strategy verticle, even if the rules are in another JVM.
   */
  private Future<ShardService> serve(
      Admission admission,
      FollowedShard followed,
      CheckpointSchedule checkpoints,
      Optional<RemoteStrategy> remote) {
    Shard shard = followed.shard();
    return finder
        .beside(admission.rank(), admission.incarnation())
        .compose(
            host -> {
              ShardService service = service(admission, followed, checkpoints, host);
              return remote.isEmpty() || !shard.hasPartitions()
                  ? Future.succeededFuture(service)
                  : host.call(
                          () ->
                              remote
                                  .get()
                                  .open(
                                      partition -> {
                                        shard.onStep(partition);
                                        checkpoints.roundEnded(shard);
                                      }))
                      .map(service)
                      .onFailure(refused -> host.release());
            });
  }

  private static Future<Optional<ShardSnapshot>> newest(
      Optional<ShardSnapshot> kept, CheckpointSchedule checkpoints, OptionalLong from) {
    long version = kept.map(ShardSnapshot::version).orElse(-1L);
    if (kept.isPresent() && checkpoints.newest() <= version) {
      return Future.succeededFuture(kept);
    }
    return checkpoints
        .read(from)
        .map(read -> read.filter(found -> found.version() > version).or(() -> kept));
  }

  /** Copies the state of a closed backup for a server that continues with it; any thread. */
  ShardSnapshot snapshot(ShardBackup backup) {
    Admission server = new Admission(Role.SERVER, backup.store().shard(), 0);
    return shard(server, backup.store(), rules(), backup.windows())
        .continueWith(backup)
        .shard()
        .snapshot();
  }

  /**
   * Assembles a backup without a copy, which listens for its primary.
   *
   * @param onSuccessor receives the admission that follows if the primary is lost
   */
  Future<BackupService> assembleBackup(
      InitialModel model, Admission admission, Consumer<Admission> onSuccessor) {
    return vertx
        .executeBlocking(() -> backup(model, admission))
        .compose(
            backup ->
                finder
                    .beside(admission.rank(), admission.incarnation())
                    .compose(
                        host ->
                            BackupService.open(
                                vertx,
                                context,
                                job.addresses(),
                                admission,
                                backup,
                                host,
                                onSuccessor)));
  }

  private ShardBackup backup(InitialModel model, Admission admission) {
    ShardBackup backup =
        new ShardBackup(
            job.addresses().jobHash(),
            model.store(job, strategy, admission.rank() % job.servers().count()),
            job.workers().count(),
            strategy.traits().lockstep());
    // This shard is never served: it loads classes that a promotion must not wait for.
    shard(admission, backup.store(), rules(), backup.windows()).continueWith(backup);
    return backup;
  }

  /** Assembles a shard that continues with a backup's state and does not take frames yet. */
  ShardService promote(
      BackupService.Promotion promotion,
      Admission admission,
      String run,
      Map<String, DataFingerprint> fingerprints) {
    ShardBackup backup = promotion.backup();
    FollowedShard followed =
        shard(admission, backup.store(), rules(), backup.windows()).continueWith(backup);
    LOG.info("{} goes on at version {}", admission, followed.shard().version());
    CheckpointSchedule checkpoints = checkpoints(run, admission, fingerprints);
    checkpoints
        .open()
        .onFailure(
            failure -> LOG.warn("{} writes no checkpoints: {}", admission, failure.getMessage()));
    return service(admission, followed, checkpoints, promotion.host());
  }

  private CheckpointSchedule checkpoints(
      String run, Admission admission, Map<String, DataFingerprint> fingerprints) {
    return new CheckpointSchedule(
        vertx, job, run, admission.rank(), strategy.traits().lockstep(), fingerprints);
  }

  private FollowedShard shard(
      InitialModel model,
      Admission admission,
      Optional<ShardSnapshot> snapshot,
      CheckpointSchedule checkpoints,
      Optional<RemoteStrategy> remote) {
    StrategyFactory rules = remote.map(link -> link.rules(rules())).orElseGet(this::rules);
    int ranks = job.workers().count();
    ParameterStore store = model.store(job, strategy, admission.rank());
    FollowedShard followed = shard(admission, store, rules, () -> new DuplicateWindow(ranks));
    Shard shard = followed.shard();
    snapshot.ifPresent(shard::restore);
    if (checkpoints.isKnown()) {
      shard.markRestoredFromStart();
    }
    snapshot.ifPresent(past -> LOG.info("{} goes on at version {}", admission, past.version()));
    return followed;
  }

  private FollowedShard shard(
      Admission admission,
      ParameterStore store,
      StrategyFactory rules,
      Supplier<DuplicateWindow> windows) {
    store.recordOn(track);
    ShardReplication replication =
        new ShardReplication(
            job.addresses().jobHash(), store.shard(), admission.incarnation(), store.layout());
    Shard shard =
        new Shard(
            new ShardConfig(
                job.addresses().jobHash(),
                admission.incarnation(),
                job.workers().count(),
                strategy.traits().lastVersion(job.steps(), job.workers().count()),
                job.exchange().deadlineMillis(),
                job.exchange().maxMagnitude()),
            store,
            rules,
            pausableClock,
            new RefusalEvents(admission.rank(), System::nanoTime, events::publish),
            windows,
            replication);
    shard.testAt(firstTest());
    return new FollowedShard(shard, replication);
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
      FollowedShard followed,
      CheckpointSchedule checkpoints,
      StrategyHost host) {
    host.endsWith(() -> context.runOnContext(go -> onStrategyUndeployed.run()));
    return new ShardService(
        context,
        job,
        admission,
        followed.shard(),
        followed.replication(),
        checkpoints,
        host,
        pausableClock,
        report,
        events::publish);
  }
}
