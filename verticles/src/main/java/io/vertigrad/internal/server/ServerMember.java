package io.vertigrad.internal.server;

import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.Scalars;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.exchange.RuleException;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyLink;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.CoordinatorClient;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.membership.MemberHandler;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardConfig;
import io.vertigrad.internal.shard.UpdateOutcomes;
import io.vertigrad.internal.timeline.MemberTimeline;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
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
  private static final String STOPPING = "this server is stopping";

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final Optional<MovedMember> session;
  private final CoordinatorClient coordinator;
  private final StrategyFinder finder;
  private final MemberTimeline timeline;
  private final EventPublisher events;
  private final StrategyFactory strategy;
  private final EvaluationPlan tests;
  private Optional<ShardService> service = Optional.empty();
  private Optional<StrategyLink> moved = Optional.empty();

  /** The admission that the server serves under, or is about to; empty after it has ended. */
  private Optional<Admission> current = Optional.empty();

  private Pause pause = Pause.NONE;
  private boolean leaving;
  private Future<Void> leaveResult;

  /**
   * Creates a server that has not joined.
   *
   * @param session set if it runs beside its strategy, for a server of another JVM
   */
  public ServerMember(Vertx vertx, Context context, JobConfig job, Optional<MovedMember> session) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.session = session;
    strategy =
        StrategyProviders.configure(job.strategy(), ServerMember.class.getClassLoader()).in(job);
    tests = EvaluationPlan.of(job, strategy.traits());
    coordinator = new CoordinatorClient(vertx, job, Role.SERVER, this, session);
    finder = new StrategyFinder(vertx, context, job, Role.SERVER, session.map(MovedMember::host));
    timeline = new MemberTimeline(vertx, job);
    events = new EventPublisher(vertx, job.addresses());
  }

  /** Builds the model, joins and serves; fails with a message for the user. */
  public Future<Void> join() {
    coordinator.report(MemberStatus.STARTING);
    return vertx
        .executeBlocking(this::shardOfFolder)
        .onSuccess(shard -> shard.ifPresent(coordinator::prefer))
        .compose(
            shard ->
                vertx.executeBlocking(
                    () -> InitialModel.of(job, ServerMember.class.getClassLoader())))
        .compose(
            model -> {
              coordinator.show(model.fingerprints());
              return held()
                  .compose(version -> joinUnlessLeaving(model, version))
                  .compose(admission -> openShard(model, admission));
            })
        .recover(
            failure -> {
              if (failure instanceof RuleException thrown) {
                failJob(thrown);
                return Future.failedFuture(new JoinException(thrown.getMessage()));
              }
              session.ifPresent(beside -> leaveFailed(failure));
              return Future.failedFuture(failure);
            });
  }

  /** Returns the shard that a server on this machine has served before in the same run. */
  private OptionalInt shardOfFolder() throws IOException {
    Optional<Path> folder =
        job.checkpoint()
            .directory()
            .or(
                () ->
                    job.run()
                        .id()
                        .map(run -> job.checkpoint().directoryOf(job.addresses().job(), run)));
    return folder.isEmpty()
        ? OptionalInt.empty()
        : new CheckpointFolder(folder.get(), job.checkpoint().keep()).onlyShard();
  }

  private Future<Admission> joinUnlessLeaving(InitialModel model, OptionalLong version) {
    return leaving ? Future.failedFuture(STOPPING) : coordinator.join(model.layout(), version);
  }

  private Future<Void> leaveFailed(Throwable failure) {
    return coordinator.leave(LeaveReason.failed(String.valueOf(failure.getMessage())));
  }

  /** Ends this server, and with it the job: the rule has thrown. */
  private void failJob(RuleException thrown) {
    LOG.error(
        "{}: {}",
        current.map(Admission::toString).orElse("this server"),
        thrown.getMessage(),
        thrown.getCause());
    current = Optional.empty();
    coordinator.leave(new LeaveReason(LeaveReason.Kind.FAILS_JOB, thrown.getMessage()));
  }

  /** Returns the version that this server has in memory from before it was evicted. */
  private Future<OptionalLong> held() {
    return service
        .map(old -> old.status().map(MemberStatus::reached).otherwise(OptionalLong.empty()))
        .orElseGet(() -> Future.succeededFuture(OptionalLong.empty()));
  }

  /** Leaves in good order; completes when the last checkpoint is on the disk. */
  public Future<Void> leave() {
    if (leaveResult == null) {
      leaving = true;
      leaveResult =
          close(STOPPING)
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

  /** Writes a last checkpoint, and leaves once the answer is on its way. */
  @Override
  public Future<MemberStatus> handOver() {
    return serving(serving -> serving.save().compose(file -> serving.status()))
        .onSuccess(status -> context.runOnContext(go -> leave()));
  }

  private <T> Future<T> serving(Function<ShardService, Future<T>> question) {
    return service.map(question).orElseGet(() -> Future.failedFuture(STILL_STARTING));
  }

  @Override
  public void onEvicted(String reason) {
    LOG.warn("this server was evicted ({}), joins again", reason);
    current = Optional.empty();
    moved.ifPresent(StrategyLink::close);
    moved = Optional.empty();
    service.ifPresent(serving -> serving.abandon("evicted: " + reason));
    if (leaving) {
      return;
    }
    join()
        .onFailure(
            refused -> {
              LOG.error("this server could not join again: {}", refused.getMessage());
              service = Optional.empty();
            });
  }

  @Override
  public void onStopped(String reason) {
    LOG.info("server told to stop: {}", reason);
    close(reason);
  }

  private Future<Void> openShard(InitialModel model, Admission admission) {
    timeline.setMember("server " + admission.rank());
    current = Optional.of(admission);
    return ContextBridge.to(context, finder.elsewhere(admission.rank()))
        .compose(
            apart -> {
              if (hasEnded(admission)) {
                return Future.succeededFuture();
              }
              return apart
                  .map(link -> move(model, link))
                  .orElseGet(() -> openShardHere(model, admission));
            });
  }

  private boolean hasEnded(Admission admission) {
    return leaving || current.filter(admission::equals).isEmpty();
  }

  /**
   * Has this server run beside its strategy in another JVM. Completes when its shard accepts frames
   * there.
   */
  private Future<Void> move(InitialModel model, StrategyLink link) {
    moved = Optional.of(link);
    Future<Void> serves =
        link.open(asked -> coordinator.transferAdmission(model.layout(), asked), () -> leaving);
    return ContextBridge.to(context, serves)
        .onSuccess(
            begun -> link.ended().onSuccess(end -> context.runOnContext(go -> onEnd(link, end))))
        .recover(
            failure -> {
              if (moved.filter(link::equals).isEmpty()) {
                return Future.failedFuture(failure);
              }
              moved = Optional.empty();
              if (link.ended().result().lost()) {
                return joinAgain(link.ended().result());
              }
              LOG.error("{}", failure.getMessage());
              return leaveFailed(failure).transform(left -> Future.failedFuture(failure));
            });
  }

  private void onEnd(StrategyLink link, StrategyLink.End end) {
    if (moved.filter(link::equals).isEmpty()) {
      return;
    }
    moved = Optional.empty();
    if (end.lost()) {
      joinAgain(end);
    } else {
      coordinator.transferredHasLeft();
      LOG.info("this server has ended at {}: {}", link.address(), end.reason());
    }
  }

  private Future<Void> joinAgain(StrategyLink.End end) {
    return coordinator
        .leave(LeaveReason.lost("its strategy verticle is lost: " + end.reason()))
        .transform(left -> join())
        .onFailure(
            refused -> LOG.error("this server could not join again: {}", refused.getMessage()));
  }

  private Future<Void> openShardHere(InitialModel model, Admission admission) {
    OptionalLong from = coordinator.rollbackVersion();
    boolean keeps = coordinator.keepsMemory() && from.isEmpty();
    Future<Optional<Checkpoint>> snapshot =
        service
            .filter(old -> keeps)
            .map(old -> old.snapshot().map(Optional::of))
            .orElseGet(() -> Future.succeededFuture(Optional.empty()));
    service = Optional.empty();
    return snapshot
        .compose(kept -> assemble(model, admission, kept, coordinator.run(), from))
        .compose(ShardService::open)
        .compose(opened -> serve(opened, admission));
  }

  /**
   * Assembles a shard that does not take frames yet. It goes back to {@code kept} or to a valid
   * checkpoint of this run, whichever is newer, or else to the initial parameters.
   *
   * @param kept the shard's state from memory
   * @param run name of the run that checkpoints belong to
   * @param from version of the checkpoint that all servers go back to; empty for the newest
   */
  private Future<ShardService> assemble(
      InitialModel model,
      Admission admission,
      Optional<Checkpoint> kept,
      String run,
      OptionalLong from) {
    CheckpointSchedule checkpoints =
        new CheckpointSchedule(
            vertx,
            job,
            run,
            admission.rank(),
            strategy.traits().stepsTogether(),
            model.fingerprints());
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

  private Shard shard(
      InitialModel model,
      Admission admission,
      Optional<Checkpoint> snapshot,
      CheckpointSchedule checkpoints,
      Scalars scalars) {
    ParameterStore store = model.store(job, strategy, admission.rank());
    store.recordOn(timeline.track());
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
            coordinator.clock(),
            new UpdateOutcomes(admission.rank(), System::nanoTime, events::publish),
            () -> new PartitionLedger(job.workers().count()));
    // In rounds, the workers themselves wait for tests.
    shard.testAt(tests.perGradient() ? tests.firstHold() : EvaluationPlan.NONE);
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

  private ShardService service(
      Admission admission,
      Shard shard,
      CheckpointSchedule checkpoints,
      Scalars scalars,
      StrategyHost host) {
    host.endsWith(() -> context.runOnContext(go -> leave()));
    return new ShardService(
        context,
        job,
        admission,
        shard,
        checkpoints,
        scalars,
        finder,
        host,
        coordinator.clock(),
        coordinator::report,
        events::publish);
  }

  private Future<Void> serve(ShardService opened, Admission admission) {
    if (leaving) {
      return opened.close(STOPPING);
    }
    if (hasEnded(admission)) {
      opened.abandon(admission + " ended before its shard took frames");
      return Future.succeededFuture();
    }
    service = Optional.of(opened);
    opened.failure().onSuccess(thrown -> onRuleFailed(opened, thrown));
    apply(opened);
    return opened
        .status()
        .onSuccess(
            status -> {
              coordinator.report(status);
              status
                  .reached()
                  .ifPresent(at -> LOG.info("{} serves its shard, at version {}", admission, at));
            })
        .mapEmpty();
  }

  /** Gives the shard up, in which the rule may have done half of a step. */
  private void onRuleFailed(ShardService failed, RuleException thrown) {
    failed.abandon(thrown.getMessage());
    if (service.filter(failed::equals).isPresent()) {
      service = Optional.empty();
      failJob(thrown);
    }
  }

  /** Applies the newest pause. Before the first one, the shard itself stops at the first test. */
  private void apply(ShardService serving) {
    if (tests.perGradient() && pause.number() > 0) {
      serving.testAt(pause.testAt());
    }
    serving.apply(pause);
  }

  private Future<Void> close(String reason) {
    timeline.close();
    current = Optional.empty();
    if (moved.isPresent()) {
      Future<?> ended = moved.get().close();
      moved = Optional.empty();
      return ended.mapEmpty();
    }
    return service.map(serving -> serving.close(reason)).orElseGet(Future::succeededFuture);
  }
}
