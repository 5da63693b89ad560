package io.vertigrad.internal.server;

import io.vertigrad.internal.backup.BackupService;
import io.vertigrad.internal.backup.ShardBackup;
import io.vertigrad.internal.backup.ShardReplication;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.CoordinatorClient;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.membership.MemberHandler;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.internal.timeline.MemberTimeline;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A server's membership in its job: joins, serves its shard, and joins again after an eviction.
 * Runs on the verticle's context.
 */
public final class ServerMember implements MemberHandler {

  private static final Logger LOG = LoggerFactory.getLogger(ServerMember.class);
  private static final String STILL_STARTING = "this server is still starting";

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final CoordinatorClient coordinator;
  private final ShardAssembly assembly;
  private final MemberTimeline timeline;
  private final boolean waitsForTests;
  private Optional<ShardService> service = Optional.empty();
  private Optional<BackupService> backup = Optional.empty();
  private Optional<ShardBackup> heldCopy = Optional.empty();
  private Optional<Replication> replication = Optional.empty();
  private Pause pause = Pause.NONE;
  private boolean leaving;
  private Future<Void> leaveResult;

  /**
   * The backup that this server replicates to; {@code attached} completes when it has everything.
   */
  private record Replication(Admission backup, Future<Void> attached) {}

  public ServerMember(Vertx vertx, Context context, JobConfig job) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    waitsForTests =
        EvaluationPlan.of(
                job,
                StrategyProviders.configure(job.strategy(), ServerMember.class.getClassLoader())
                    .traits())
            .perGradient();
    coordinator = new CoordinatorClient(vertx, job, Role.SERVER, this);
    timeline = MemberTimeline.of(vertx, job);
    assembly =
        new ShardAssembly(
            vertx,
            context,
            job,
            coordinator.clock(),
            timeline.track(),
            coordinator::report,
            this::leave);
  }

  /** Builds the model, joins and serves; fails with a message for the user. */
  public Future<Void> join() {
    coordinator.report(MemberStatus.STARTING);
    return vertx
        .executeBlocking(() -> InitialModel.of(job, ServerMember.class.getClassLoader()))
        .compose(
            model -> {
              coordinator.show(model.fingerprints());
              return held()
                  .compose(version -> coordinator.join(model.layout(), version))
                  .compose(admission -> openShard(model, admission));
            });
  }

  /** Returns the version that this server has in memory from before it was evicted. */
  private Future<OptionalLong> held() {
    return service
        .map(old -> old.status().map(MemberStatus::version).otherwise(OptionalLong.empty()))
        .orElseGet(
            () ->
                Future.succeededFuture(
                    heldCopy
                        .map(copy -> OptionalLong.of(copy.version()))
                        .orElseGet(OptionalLong::empty)));
  }

  /** Leaves in good order; completes when the last checkpoint is on the disk. */
  public Future<Void> leave() {
    if (leaveResult == null) {
      leaving = true;
      leaveResult =
          close("this server is stopping")
              .transform(closed -> coordinator.leave(LeaveReason.STOPPED))
              .otherwiseEmpty();
    }
    return leaveResult;
  }

  @Override
  public Future<ProposalAnswer> onProposal(Membership next) {
    return service
        .map(serving -> serving.propose(next))
        .orElseGet(() -> Future.failedFuture(STILL_STARTING));
  }

  @Override
  public void membershipChanged(Membership now) {
    service.ifPresent(serving -> serving.membershipChanged(now));
  }

  /** Keeps the newest pause, which also applies to a shard that is opened later. */
  @Override
  public long onPause(Pause pause) {
    this.pause = pause;
    service.ifPresent(this::apply);
    return 0;
  }

  @Override
  public Future<Void> replicate(Admission to) {
    if (service.isEmpty()) {
      return Future.failedFuture(STILL_STARTING);
    }
    if (replication.filter(now -> now.backup().equals(to)).isEmpty()) {
      ShardService serving = service.get();
      replication.ifPresent(before -> serving.detach());
      Transport transport = Transport.of(vertx, job.exchange());
      String address = job.addresses().shard(to.rank(), to.incarnation());
      long limit = job.exchange().suspectMillis();
      Future<Void> attached =
          serving.attach(
              () -> ShardReplication.Link.over(transport, address, limit),
              reason -> onBackupLost(to, serving, reason));
      replication = Optional.of(new Replication(to, attached));
    }
    return replication.get().attached();
  }

  /**
   * Handles a failed backup; no answer leaves until the coordinator knows that it is incomplete.
   */
  private void onBackupLost(Admission failed, ShardService serving, String reason) {
    LOG.warn("{} does not take what it is sent ({})", failed, reason);
    coordinator
        .dropBackup(failed, reason)
        .onSuccess(
            dropped -> {
              if (dropped && service.filter(serving::equals).isPresent()) {
                LOG.warn("shard goes on without a backup until there is another");
                replication = Optional.empty();
                serving.detach();
              }
            });
  }

  @Override
  public Future<Void> onPromoted(Admission to) {
    if (backup.isEmpty()) {
      return Future.failedFuture("this server is no backup");
    }
    BackupService before = backup.get();
    backup = Optional.empty();
    coordinator.report(MemberStatus.STARTING);
    timeline.setMember("server " + to.rank());
    Future<Admission> renamed = coordinator.promote(to);
    return before
        .promote(to)
        .compose(
            promotion -> {
              ShardService serving =
                  assembly.promote(promotion, to, coordinator.run(), coordinator.fingerprints());
              service = Optional.of(serving);
              return serving.open(promotion.reserved());
            })
        .compose(opened -> renamed.compose(unused -> serve(opened, to)))
        .onFailure(failure -> LOG.error("{} could not go on: {}", to, failure.getMessage()));
  }

  @Override
  public Future<MemberStatus> counters() {
    return serving(ShardService::statusAndCounters);
  }

  @Override
  public Future<List<RankUpdates>> updates() {
    return serving(ShardService::updates);
  }

  @Override
  public Future<Optional<Path>> save() {
    return serving(ShardService::save);
  }

  @Override
  public Future<MemberStatus> checkpoint() {
    return serving(ShardService::checkpoint);
  }

  private <T> Future<T> serving(Function<ShardService, Future<T>> question) {
    return service.map(question).orElseGet(() -> Future.failedFuture(STILL_STARTING));
  }

  @Override
  public void onEvicted(String reason) {
    LOG.warn("this server was evicted ({}), joins again", reason);
    replication = Optional.empty();
    heldCopy = Optional.empty();
    Future<Void> closed =
        backup.map(copy -> keep(copy, "evicted: " + reason)).orElseGet(Future::succeededFuture);
    backup = Optional.empty();
    service.ifPresent(serving -> serving.abandon("evicted: " + reason));
    if (leaving) {
      return;
    }
    closed
        .transform(kept -> join())
        .onFailure(
            refused -> {
              LOG.error("this server could not join again: {}", refused.getMessage());
              service = Optional.empty();
            });
  }

  /**
   * Keeps a backup's copy after an eviction: if its server is lost too, it may be the newest copy.
   */
  private Future<Void> keep(BackupService copy, String reason) {
    return copy.close(reason).onSuccess(whole -> heldCopy = whole).mapEmpty();
  }

  @Override
  public void onStopped(String reason) {
    LOG.info("server told to stop: {}", reason);
    close(reason);
  }

  private Future<Void> openShard(InitialModel model, Admission admission) {
    timeline.setMember("server " + admission.rank());
    if (admission.rank() >= job.servers().count()) {
      return backUp(model, admission);
    }
    OptionalLong from = coordinator.rollbackVersion();
    boolean keeps = coordinator.keepsMemory() && from.isEmpty();
    Optional<ShardBackup> copy = heldCopy.filter(kept -> keeps);
    Future<Optional<ShardSnapshot>> snapshot =
        service
            .filter(old -> keeps)
            .map(old -> old.snapshot().map(Optional::of))
            .orElseGet(() -> vertx.executeBlocking(() -> copy.map(assembly::snapshot)));
    service = Optional.empty();
    heldCopy = Optional.empty();
    return snapshot
        .compose(kept -> assembly.assemble(model, admission, kept, coordinator.run(), from))
        .compose(ShardService::open)
        .compose(opened -> serve(opened, admission));
  }

  private Future<Void> backUp(InitialModel model, Admission admission) {
    service = Optional.empty();
    heldCopy = Optional.empty();
    return assembly
        .assembleBackup(model, admission, coordinator::listenForPromotion)
        .map(
            opened -> {
              if (leaving) {
                opened.close("this server is stopping");
              } else {
                backup = Optional.of(opened);
                coordinator.report(MemberStatus.NONE);
                LOG.info("{} is a backup", admission);
              }
              return null;
            });
  }

  private Future<Void> serve(ShardService opened, Admission admission) {
    if (leaving) {
      return opened.close("this server is stopping");
    }
    service = Optional.of(opened);
    apply(opened);
    return opened
        .status()
        .onSuccess(
            status -> {
              coordinator.report(status);
              LOG.info("{} serves {}", admission, status);
            })
        .mapEmpty();
  }

  /** Applies the newest pause. Before the first one, the shard itself stops at the first test. */
  private void apply(ShardService serving) {
    if (waitsForTests && pause.number() > 0) {
      serving.testAt(pause.testAt());
    }
    serving.saveAt(pause.saveAt());
  }

  private Future<Void> close(String reason) {
    timeline.close();
    backup.ifPresent(copy -> copy.close(reason));
    return service.map(serving -> serving.close(reason)).orElseGet(Future::succeededFuture);
  }
}
