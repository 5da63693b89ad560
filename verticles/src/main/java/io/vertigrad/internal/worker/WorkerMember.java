package io.vertigrad.internal.worker;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.Scalars;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.internal.checkpoint.CheckpointWriter;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.BatchDivision;
import io.vertigrad.internal.membership.CoordinatorClient;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.membership.MemberHandler;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.StepState;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.timeline.MemberTimeline;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.ParameterExchange.Report;
import io.vertigrad.internal.worker.TrainingLoop.JoinRequester;
import io.vertigrad.internal.worker.WorkerCounters.LoopProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker's membership of its job. Passes membership changes and stop requests between the
 * verticle's context and the loop's thread.
 */
public final class WorkerMember implements MemberHandler, JoinRequester {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerMember.class);

  private final CoordinatorClient coordinator;
  private final JobConfig job;
  private final Promise<Admission> admitted = Promise.promise();
  private final StepGate gate;
  private final MemberTimeline timeline;
  private final EventPublisher events;
  private final Vertx vertx;
  private final Runnable startAdopted;
  private final boolean startedForFreeRank;
  private final boolean hasServers;
  private volatile Handlers handlers;
  private volatile Admission current;
  private volatile Optional<Scalars> scalars = Optional.empty();
  private volatile Admission evictedAdmission;
  private volatile boolean stopping;
  private LoopProgress reported = LoopProgress.NONE;
  private List<StreamTests> reportedTests = List.of();

  private record Handlers(
      ParameterLayout layout, Consumer<Membership> membership, TrainingLoop loop) {}

  /**
   * Creates a worker's membership. Call it on the verticle's context.
   *
   * @param startedForFreeRank true if the worker was started in another worker's JVM for a rank
   *     without a worker
   * @param startAdopted starts such a worker beside this one
   * @param session set if it runs beside its strategy, for a worker of another JVM
   */
  public WorkerMember(
      Vertx vertx,
      JobConfig job,
      boolean startedForFreeRank,
      Runnable startAdopted,
      Optional<MovedMember> session) {
    this.job = job;
    this.startedForFreeRank = startedForFreeRank;
    this.startAdopted = startAdopted;
    events = new EventPublisher(vertx, job.addresses());
    this.vertx = vertx;
    StrategyTraits traits =
        StrategyProviders.configure(job.strategy(), WorkerMember.class.getClassLoader()).traits();
    hasServers = traits.besideServers();
    gate = new StepGate(firstTest(job, traits));
    coordinator = new CoordinatorClient(vertx, job, Role.WORKER, this, session);
    timeline = new MemberTimeline(vertx, job);
    if (startedForFreeRank) {
      coordinator.joinAsSubstitute();
    }
  }

  /** Where workers are at different versions, the servers wait for tests instead. */
  private static long firstTest(JobConfig job, StrategyTraits traits) {
    EvaluationPlan plan = EvaluationPlan.of(job, traits);
    return plan.perGradient() ? EvaluationPlan.NONE : plan.firstHold();
  }

  /** Sets the fingerprints of data and model files that joins show; any thread. */
  public void show(Map<String, DataFingerprint> fingerprints) {
    coordinator.show(fingerprints);
  }

  /** Sets the receivers of membership changes and stop requests. Call it before the loop runs. */
  public void serve(ParameterLayout layout, Consumer<Membership> membership, TrainingLoop loop) {
    handlers = new Handlers(layout, membership, loop);
    if (stopping) {
      loop.stop();
    }
  }

  /** Completes with the first admission, or fails with the reason why there was none. */
  public Future<Admission> admitted() {
    return admitted.future();
  }

  /** Records that the loop failed. Returns true if the worker had not been admitted yet. */
  public boolean failAdmission(Throwable why) {
    return admitted.tryFail(why);
  }

  @Override
  public StepGate gate() {
    return gate;
  }

  /** Returns the name of the run; empty before the first admission. */
  String run() {
    return coordinator.run();
  }

  /** Returns the run to which this worker's checkpoints belong. */
  CheckpointWriter.Owner checkpointOwner() {
    return new CheckpointWriter.Owner(coordinator::run, coordinator::fingerprints);
  }

  @Override
  public void epochTrained(EpochTrained epoch) {
    events.publish(epoch);
  }

  @Override
  public SpanRecorder timeline() {
    return timeline.track();
  }

  /** Returns the clock that limits how long this worker waits for others. */
  public LongSupplier clock() {
    return coordinator.clock();
  }

  @Override
  public Optional<Membership.Member> join() {
    Handlers registered = handlers;
    gate.reset();
    // An interrupted thread would ask again and again without waiting.
    while (!stopping && !Thread.currentThread().isInterrupted()) {
      boolean again = current != null;
      Optional<Admission> admission;
      try {
        admission = FutureAwait.await(admission(registered.layout()), () -> stopping);
      } catch (JoinException full) {
        if (startedForFreeRank && again) {
          LOG.info("{} is needed no longer: {}", name(), full.getMessage());
          return Optional.empty();
        }
        throw full;
      }
      Optional<Membership> running = admission.flatMap(this::awaitStart);
      if (running.isPresent()) {
        return running.get().worker(admission.get().rank());
      }
    }
    return Optional.empty();
  }

  /** Asks the coordinator. An incarnation that was refused leaves before the next one joins. */
  private Future<Admission> admission(ParameterLayout layout) {
    Future<?> before =
        current == null
            ? Future.succeededFuture()
            : coordinator.leave(LeaveReason.lost(MemberLeft.JOINS_AGAIN));
    return before
        .transform(
            left -> {
              coordinator.report(MemberStatus.NONE);
              return coordinator.join(layout, lastSeenVersion());
            })
        .onSuccess(
            admission -> {
              current = admission;
              scalars = Optional.of(Scalars.of(vertx, job.addresses().job(), name()));
              timeline.setMember(job.nameOf(admission.role().lower(), admission.rank()));
              LOG.info("{} admitted", name(admission));
              admitted.tryComplete(admission);
            });
  }

  /** Returns the last version of the servers that this worker has seen. */
  private OptionalLong lastSeenVersion() {
    long version = current == null || !hasServers ? 0 : handlers.loop().progress().version();
    return version > 0 ? OptionalLong.of(version) : OptionalLong.empty();
  }

  /** Returns empty if the admission was withdrawn before the job ran, or the worker has to stop. */
  private Optional<Membership> awaitStart(Admission admission) {
    return FutureAwait.await(
        coordinator.started(), () -> stopping || admission.equals(evictedAdmission));
  }

  /**
   * Asks which state the workers of a group continue from. Blocks until all have asked.
   *
   * @throws GroupChangedException when there is a newer group, or this incarnation ends
   */
  public Choice choose(Candidates candidates) {
    return FutureAwait.await(
            coordinator.choice(candidates),
            () -> stopping || candidates.from().equals(evictedAdmission))
        .orElseThrow(() -> new GroupChangedException("this incarnation has ended"));
  }

  /**
   * Asks how the samples of a round are divided. Blocks until all workers that begin it have asked.
   *
   * @throws GroupChangedException when the membership changes meanwhile, or this incarnation ends
   */
  BatchDivision division(
      Admission from, long round, long nanosPerSample, Optional<BatchDivision> known) {
    return FutureAwait.await(
            coordinator.division(from, round, nanosPerSample, known),
            () -> stopping || from.equals(evictedAdmission))
        .orElseThrow(() -> new GroupChangedException("this incarnation has ended"));
  }

  /** Gives up the admission for the worker that runs beside its strategy in another JVM. */
  Future<JsonObject> transferAdmission(JsonObject asked) {
    return coordinator.transferAdmission(handlers.layout(), asked);
  }

  /** Records that the worker that runs beside its strategy has left. */
  void transferredHasLeft() {
    coordinator.transferredHasLeft();
  }

  boolean isStopping() {
    return stopping;
  }

  /** Ends the loop, whatever it waits for. */
  public void stop() {
    stopping = true;
    Handlers registered = handlers;
    if (registered != null) {
      registered.loop().stop();
    }
  }

  /**
   * Reports the progress of this incarnation to the coordinator, and publishes what has changed.
   * The progress of an earlier incarnation is not reported, because it may be out of date: without
   * servers all workers may have gone back since then and agreed on another version.
   *
   * @param activity what the worker does now, for people
   */
  public void report(String activity) {
    Handlers registered = handlers;
    if (registered == null) {
      return;
    }
    TrainingLoop loop = registered.loop();
    LoopProgress progress = loop.progress();
    Report more = loop.report();
    Admission now = current;
    boolean agreed =
        now != null && progress.rank() == now.rank() && progress.incarnation() == now.incarnation();
    scalars.ifPresent(Scalars::flush);
    coordinator.report(
        agreed
            ? new WorkerStatus(
                progress.step(),
                progress.version(),
                more.samplesOfAll(),
                activity,
                loop.tested(),
                gate.finished(),
                more.saveMillis(),
                loop.awaitsData())
            : MemberStatus.NONE);
    publish(progress, more.events(), loop.events());
  }

  private void publish(LoopProgress now, List<TrainingEvent> more, List<TrainingEvent> ofSource) {
    List<StreamTests> tests =
        ofSource.stream()
            .filter(StreamTested.class::isInstance)
            .map(each -> ((StreamTested) each).tests())
            .toList();
    if (now.step() != reported.step() || now.incarnation() != reported.incarnation()) {
      events.publish(now.toEvent(System.currentTimeMillis(), reported));
      more.forEach(events::publish);
    } else if (tests.equals(reportedTests)) {
      return;
    }
    // Events of a stream that are left out count without a step.
    ofSource.forEach(events::publish);
    reported = now;
    reportedTests = tests;
  }

  /** Sets the version that the model's scalars belong to while it computes for another JVM. */
  void computing(long version) {
    handlers.loop().computing(version);
  }

  /** Publishes a scalar of the model, with the version that its gradient belongs to. */
  void scalar(String name, double value) {
    Handlers registered = handlers;
    if (registered != null) {
      scalars.ifPresent(each -> each.report(name, registered.loop().computing(), value));
    }
  }

  public Future<Void> leave(LeaveReason reason) {
    scalars.ifPresent(Scalars::flush);
    timeline.close();
    return coordinator.leave(reason);
  }

  @Override
  public void membershipChanged(Membership now) {
    handlers.membership().accept(now);
  }

  @Override
  public long onPause(Pause pause) {
    return gate.apply(pause);
  }

  @Override
  public Future<StepState> stepState() {
    Handlers registered = handlers;
    return registered == null
        ? MemberHandler.super.stepState()
        : Future.succeededFuture(gate.state(registered.loop().progress().version()));
  }

  @Override
  public Future<Void> startSubstitute() {
    startAdopted.run();
    return Future.succeededFuture();
  }

  @Override
  public Future<Optional<Path>> save() {
    Handlers registered = handlers;
    return registered == null
        ? MemberHandler.super.save()
        : registered.loop().checkpoint().map(Optional::of);
  }

  /** A worker with servers has nothing to save: its successor goes on where the servers are. */
  @Override
  public Future<MemberStatus> handOver() {
    Handlers registered = handlers;
    if (registered == null) {
      return MemberHandler.super.handOver();
    }
    Future<?> saved = hasServers ? Future.succeededFuture() : registered.loop().checkpoint();
    return saved.map(
        file -> {
          registered.loop().leave();
          return MemberStatus.NONE;
        });
  }

  @Override
  public void onEvicted(String why) {
    Admission gone = current;
    LOG.warn("{} evicted, joins again: {}", name(gone), why);
    evictedAdmission = gone;
    handlers.loop().evicted(gone.rank(), gone.incarnation());
  }

  @Override
  public void onStopped(String why) {
    LOG.info("{} told to stop: {}", name(), why);
    stop();
  }

  /**
   * Returns the name for messages: {@code worker 1}, {@code stage 0}; {@code worker} until
   * admitted.
   */
  public String name() {
    Admission mine = current;
    return mine == null ? "worker" : job.nameOf(mine.role().lower(), mine.rank());
  }

  /** Returns the name for messages: {@code worker 1}, {@code stage 0 (incarnation 2)}. */
  private String name(Admission admission) {
    return admission.describe(job.nameOf(admission.role().lower(), admission.rank()));
  }
}
