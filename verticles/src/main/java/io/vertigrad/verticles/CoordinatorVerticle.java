package io.vertigrad.verticles;

import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.membership.ControlCodec;
import io.vertigrad.internal.membership.ControlRequestHandler;
import io.vertigrad.internal.membership.CoordinatorState;
import io.vertigrad.internal.membership.DecisionExecutor;
import io.vertigrad.internal.membership.DecisionExecutor.OrderlyStop;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts, monitors and ends one job; deployed once per job, with the job file as its configuration.
 *
 * <p>It is a thin host: a {@link ControlRequestHandler} passes requests to its {@link
 * CoordinatorState}, and a {@link DecisionExecutor} carries out the state's decisions. {@code
 * docs/reference/control-protocol.md} describes the messages.
 */
public final class CoordinatorVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorVerticle.class);
  private static final long TICK_MILLIS = 100;
  private static final long STOP_MILLIS = 5_000;
  private static final long READ_MILLIS = 3_000;
  private static final long POLL_MILLIS = 10;
  private static final long RIVAL_MILLIS = 500;
  private static final Set<Split> BOTH = EnumSet.allOf(Split.class);
  private static final ClassLoader LOADER = CoordinatorVerticle.class.getClassLoader();

  private final Promise<JsonObject> result = Promise.promise();
  private JobConfig job;
  private CoordinatorState coordinatorState;
  private ControlRequestHandler requests;
  private DecisionExecutor executor;
  private EventLoops loops;

  /**
   * Returns the outcome of the job.
   *
   * @return completes when the job has ended, with {@code state} ({@code finished}, {@code failed}
   *     or {@code stopped}), {@code version}, {@code samples}, {@code evaluation} when the
   *     evaluator tested the end, {@code stopped} with the reason when it ended before its last
   *     version, {@code silent} with the names of servers that did not report their last counters,
   *     and {@code failure} with the reason when it failed or was stopped; it never fails
   */
  public Future<JsonObject> result() {
    return result.future();
  }

  /**
   * Releases every member, in any state of the job. Predictors that read the parameters of a
   * finished job may complete that first, within three seconds. Any thread may call it, once this
   * verticle is deployed.
   *
   * @param reason the reason for people; messages to members and events repeat it
   * @return completes when all have left, or after five seconds more
   */
  public Future<Void> stop(String reason) {
    Promise<Void> stopped = Promise.promise();
    context.runOnContext(
        go ->
            await(
                () -> !requests.isRead(),
                READ_MILLIS,
                () -> {
                  coordinatorState.stop(reason);
                  await(coordinatorState::isEmpty, STOP_MILLIS, stopped::complete);
                }));
    return stopped.future();
  }

  /**
   * Announces that {@link #stop(String)} will follow, for example because this process was asked to
   * end. From then on no lost member is replaced, and a member whose own process is asked to end
   * stays until the job is saved. Any thread may call it.
   */
  public void announceStop() {
    onContext(state -> state.announceStop());
  }

  /**
   * Brings the job to rest and saves it, so that it can be stopped and its model read. Workers
   * finish the step they are in and begin no other. Any thread may call it, once this verticle is
   * deployed.
   *
   * @return completes, within some 100 seconds, and a second for each million parameters, and
   *     without ever failing, with {@code busy} (names of workers that did not come to rest),
   *     {@code checkpoints} (the files written) and {@code unsaved} (members that could not write
   *     one, and why)
   */
  public Future<JsonObject> interrupt() {
    return interrupt(true);
  }

  /**
   * Brings the job to rest as {@link #interrupt()} does, with or without checkpoints.
   *
   * @param checkpoints true to let servers and stages write one
   * @return completes as {@link #interrupt()} does
   */
  public Future<JsonObject> interrupt(boolean checkpoints) {
    Promise<JsonObject> saved = Promise.promise();
    context.runOnContext(
        go ->
            new OrderlyStop(coordinatorState, executor, checkpoints)
                .start()
                .map(ControlCodec::write)
                .onComplete(saved));
    return saved.future();
  }

  /**
   * Returns the fingerprints of the data and model files that members have shown. Any thread may
   * call it, once this verticle is deployed.
   *
   * @return completes with the fingerprints by what they are of, as {@link
   *     JobConfig#fingerprints()}
   */
  public Future<Map<String, DataFingerprint>> fingerprints() {
    Promise<Map<String, DataFingerprint>> known = Promise.promise();
    context.runOnContext(go -> known.complete(coordinatorState.fingerprints()));
    return known.future();
  }

  /**
   * Evicts the members of a process of this machine that has ended. Any thread may call it, once
   * this verticle is deployed.
   *
   * @param pid process id from the operating system
   * @param how how the process ended, for people
   */
  public void processEnded(long pid, String how) {
    onContext(state -> state.onProcessEnded(job.cluster().nodeName(pid), how));
  }

  /**
   * Reports that a process of this machine runs that was started for a member and has not joined
   * yet. The wait for the job's start then begins anew. Any thread may call it.
   *
   * @param pid process id from the operating system
   */
  public void processRuns(long pid) {
    onContext(state -> state.onProcessRuns(job.cluster().nodeName(pid)));
  }

  /** Does something with the state, unless this verticle is not deployed yet. */
  private void onContext(Consumer<CoordinatorState> action) {
    Context own = context;
    if (own != null) {
      own.runOnContext(
          go -> {
            if (coordinatorState != null) {
              action.accept(coordinatorState);
            }
          });
    }
  }

  /**
   * Reports processes of this machine that hang: their members were evicted for their silence and
   * stayed silent for as long again. It may be called once this verticle is deployed.
   *
   * @param listener receives the process id; called on this verticle's context
   */
  public void onHungProcess(LongConsumer listener) {
    context.runOnContext(go -> executor.onHungProcess(onThisMachine(listener)));
  }

  /**
   * Reports processes of this machine whose members were asked to leave while the job goes on. A
   * process that is started for one of their roles takes their place. It may be called once this
   * verticle is deployed.
   *
   * @param listener receives the process id; called on this verticle's context
   */
  public void onDrain(LongConsumer listener) {
    context.runOnContext(go -> executor.onDrain(onThisMachine(listener)));
  }

  private Consumer<String> onThisMachine(LongConsumer listener) {
    String prefix = job.cluster().nodeName(0).replaceFirst("0$", "");
    return node -> {
      if (node.startsWith(prefix)) {
        listener.accept(Long.parseLong(node.substring(prefix.length())));
      }
    };
  }

  @Override
  public Future<?> start() {
    return VerticleJob.read(vertx, config()).compose(this::withOwnData).compose(this::coordinate);
  }

  /**
   * Returns the job with the fingerprints of the data of this machine, for members of others. Where
   * it has none, the first member's data count.
   */
  private Future<JobConfig> withOwnData(JobConfig read) {
    if (!vertx.isClustered() || !read.fingerprints().isEmpty()) {
      return Future.succeededFuture(read);
    }
    return vertx
        .executeBlocking(() -> read.withFingerprints(read.fingerprints(BOTH, LOADER)), false)
        .onFailure(none -> LOG.warn("the first member's data are the job's: {}", none.toString()))
        .otherwise(read);
  }

  @Override
  public Future<?> stop() {
    if (coordinatorState != null) {
      coordinatorState.stop("the coordinator was undeployed");
    }
    return Future.succeededFuture();
  }

  private Future<?> coordinate(JobConfig read) {
    job = read;
    StrategyTraits traits = StrategyProviders.configure(job, LOADER).traits();
    job.warnings(traits.lastVersion(job.steps(), job.workers().count())).forEach(LOG::warn);
    executor = new DecisionExecutor(vertx, job, result);
    coordinatorState = CoordinatorState.of(job, traits, executor);
    executor.setCoordinator(coordinatorState);
    loops = new EventLoops(((VertxInternal) vertx).nettyEventLoopGroup());
    requests = new ControlRequestHandler(coordinatorState);
    String address = job.addresses().coordinator();
    long interval = Math.min(TICK_MILLIS, job.exchange().suspectMillis() / 4);
    return refuseRival(address)
        .compose(alone -> executor.restore())
        .compose(restored -> listenForTests())
        .compose(listening -> serve(address))
        .onSuccess(served -> vertx.setPeriodic(interval, id -> tick()));
  }

  private void tick() {
    if (vertx.isClustered()) {
      try {
        coordinatorState.onClusterNodes(
            Set.copyOf(((VertxInternal) vertx).clusterManager().getNodes()));
      } catch (RuntimeException closing) {
        LOG.debug("the cluster was left", closing);
      }
    }
    coordinatorState.onEventLoops(loops.haveRun());
    coordinatorState.tick();
    if (coordinatorState.awaitsHeartbeat()) {
      loops.probe();
    }
  }

  /**
   * Finds event loops that do not run what is posted to them. The coordinator reads heartbeats on
   * one, the event bus on another, and members of this process send theirs on any. Belongs to the
   * coordinator's context.
   */
  private static final class EventLoops {

    private final EventLoopGroup loops;
    private final AtomicInteger waiting = new AtomicInteger();

    EventLoops(EventLoopGroup loops) {
      this.loops = loops;
    }

    /** Returns whether all have run since the last probe. */
    boolean haveRun() {
      return waiting.get() == 0;
    }

    /** Posts something to each of them, unless one still has to run what was posted before. */
    void probe() {
      if (haveRun()) {
        List<EventExecutor> all = new ArrayList<>();
        loops.forEach(all::add);
        waiting.set(all.size());
        all.forEach(loop -> loop.execute(waiting::decrementAndGet));
      }
    }
  }

  /** Listens for tests, only if a test may end the job. */
  private Future<Void> listenForTests() {
    return job.stop().looksAtTests()
        ? vertx
            .eventBus()
            .<JsonObject>consumer(job.addresses().events(), message -> onEvent(message.body()))
            .completion()
        : Future.succeededFuture();
  }

  private void onEvent(JsonObject event) {
    if (TrainingEvent.fromJson(event) instanceof Evaluated test) {
      coordinatorState.onTest(test);
    }
  }

  private Future<Void> serve(String address) {
    MessageConsumer<JsonObject> consumer =
        vertx
            .eventBus()
            .consumer(address, message -> message.reply(named(requests.answer(message.body()))));
    return consumer.completion();
  }

  /**
   * Adds this node's id: members check whether their cluster still has the node that answers them.
   * Adds {@code stops} when they are about to be released.
   */
  private JsonObject named(JsonObject answer) {
    if (coordinatorState.stops()) {
      answer.put("stops", true);
    }
    return vertx.isClustered()
        ? answer.put("node", ((VertxInternal) vertx).clusterManager().getNodeId())
        : answer;
  }

  private Future<Void> refuseRival(String address) {
    DeliveryOptions soon = new DeliveryOptions().setSendTimeout(RIVAL_MILLIS);
    return vertx
        .eventBus()
        .request(address, new JsonObject().put("request", "state"), soon)
        .transform(
            rival ->
                rival.failed()
                    ? Future.succeededFuture()
                    : Future.failedFuture(
                        "another coordinator answers on %s: give this job another name (key"
                                .formatted(address)
                            + " \"job\"), or let that one finish"));
  }

  /** Does something once a condition holds, or after this time at the latest. */
  private void await(BooleanSupplier condition, long millis, Runnable action) {
    if (millis <= 0 || condition.getAsBoolean()) {
      action.run();
    } else {
      vertx.setTimer(POLL_MILLIS, id -> await(condition, millis - POLL_MILLIS, action));
    }
  }
}
