package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.host.StrategyHost;
import io.vertigrad.internal.host.StrategyService.RemoteMember;
import io.vertigrad.internal.host.StrategyThread;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Ending;
import io.vertigrad.internal.worker.ParameterExchange.Report;
import io.vertigrad.internal.worker.ParameterExchange.Status;
import io.vertigrad.internal.worker.ParameterExchange.Step;
import io.vertigrad.internal.worker.ReplicaCheckpoints.SaveOrders;
import io.vertigrad.internal.worker.ReplicaMessages.GradientSent;
import io.vertigrad.internal.worker.ReplicaMessages.JobState;
import io.vertigrad.internal.worker.ReplicaMessages.Opening;
import io.vertigrad.internal.worker.ReplicaMessages.Progress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The part of a worker that runs in the JVM of its strategy, if that is another JVM. It holds the
 * replica with the optimizer's state, the strategy's rule and the checkpoints, and it answers other
 * workers and readers. The worker sends gradients and takes the next parameters; see {@link
 * RemoteExchange}.
 */
public final class RemoteWorker implements RemoteMember, SaveOrders {

  private static final Logger LOG = LoggerFactory.getLogger(RemoteWorker.class);

  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyHost host;
  private final StrategyTraits traits;
  private final StrategyThread thread;
  private volatile Session session;
  private volatile long waitClockNanos;
  private volatile long saveMillis;
  private volatile String run = "";
  private Model model;
  private VectorOnlyModel replica;
  private PartitionPlan plan;

  /** One incarnation of the worker. */
  private final class Session {

    private final Incarnation self;
    private final StepGate gate = new StepGate();
    private final ReplicaCheckpoints checkpoints;
    private final StrategyExchange exchange;
    private volatile Membership newest = Membership.NONE;
    private volatile boolean stopped;
    private volatile float[] parameters;

    Session(SenderIdentity identity, long firstVersion) {
      self = new Incarnation(identity, firstVersion, gate, () -> stopped);
      checkpoints =
          new ReplicaCheckpoints(
              job,
              plan.layout(),
              WorkerAgreement.checkpointEvery(job, traits),
              WorkerAgreement.checkpointKeep(job, traits),
              traits.needsEveryRank(),
              RemoteWorker.this,
              new EventPublisher(vertx, job.addresses())::publish);
      exchange =
          new StrategyExchange(
              new StrategyExchange.Environment(
                  (rank, incarnation) -> Future.succeededFuture(host),
                  () -> {},
                  job,
                  "exchange",
                  traits.lastVersion(job.steps(), job.workers().count()),
                  System::nanoTime,
                  () -> waitClockNanos,
                  SpanRecorder.OFF,
                  EvaluationPlan.of(job, traits)),
              self,
              replica.beginIncarnation(),
              new WorkerAgreement(job, traits, checkpoints, self, replica),
              WorkerAgreement.saves(job, checkpoints, self),
              new SnapshotServer(
                  plan,
                  identity.incarnation(),
                  job.exchange().type(),
                  job.exchange().deadlineMillis(),
                  () -> waitClockNanos));
    }

    void update(JobState state) {
      waitClockNanos = state.now();
      gate.apply(state.pause());
      if (state.membership().epoch() > newest.epoch()) {
        newest = state.membership();
        exchange.membershipChanged(newest);
      }
    }

    /** Ends every wait. May be called by any thread. */
    void stop() {
      stopped = true;
      exchange.wake();
    }

    /** Closes the session. Belongs to this worker's thread. */
    void close() {
      stop();
      exchange.close();
      checkpoints.close();
    }

    Progress progress(
        Ending ending, Optional<Step> step, boolean finalOffered, Optional<String> failure) {
      parameters = replica.vector().parameters();
      Report report = exchange.report();
      Status status = failure.isEmpty() ? exchange.state().status() : Status.WAITING;
      TrafficCounters traffic = exchange.traffic();
      return new Progress(
          ending,
          step.map(Step::applied).orElse(false),
          finalOffered,
          status == Status.READY,
          status == Status.NEEDS_FETCH,
          newest.epoch(),
          replica.vector().updates(),
          report.samplesOfAll(),
          traffic.sentTo(),
          traffic.receivedFrom(),
          traffic.bytesSaved(),
          report.events(),
          saveMillis,
          step.flatMap(Step::leftOutReason),
          failure);
    }
  }

  /** A model that only holds a vector: the gradients come from the worker's JVM. */
  private static final class VectorOnlyModel extends VectorModel {

    VectorOnlyModel(Model model, Engine engine, long trainingSamples, float maxMagnitude) {
      super(model, engine, 0, trainingSamples, maxMagnitude);
    }

    @Override
    public void load(float[] parameters) {}

    @Override
    public float[] gradient() {
      return gradientArray();
    }
  }

  public RemoteWorker(Vertx vertx, JobConfig job, StrategyHost host) {
    this.vertx = vertx;
    this.job = job;
    this.host = host;
    this.traits = host.strategy().traits();
    this.thread = new StrategyThread("replica of a worker of " + job.addresses().job());
  }

  @Override
  public String run() {
    return run;
  }

  @Override
  public long saveAt() {
    Session open = session;
    return open == null ? 0 : open.gate.saveAt();
  }

  @Override
  public void recordSaveMillis(long millis) {
    saveMillis = millis;
  }

  @Override
  public Future<Void> open(JsonObject request) {
    Session before = session;
    if (before != null) {
      before.stop();
    }
    return onThread(
        () -> {
          end();
          begin(request);
          return null;
        });
  }

  private void begin(JsonObject request) {
    build();
    Opening opening = ReplicaMessages.read(Opening.class, request);
    if (opening.layout() != plan.layout()) {
      throw new ExchangeException(
          "the worker's layout is %016x, expected %016x; use the same job file and model"
              .formatted(opening.layout(), plan.layout()));
    }
    run = opening.run();
    SenderIdentity identity =
        new SenderIdentity(job.addresses().jobHash(), opening.rank(), opening.incarnation());
    Session begun = new Session(identity, opening.firstVersion());
    session = begun;
    begun.exchange.open();
    begun.update(ReplicaMessages.read(JobState.class, request));
  }

  private void build() {
    if (model != null) {
      return;
    }
    Dataset data =
        DatasetProvider.open(job.data(), Split.TRAIN, RemoteWorker.class.getClassLoader());
    Engine engine = Engine.named(job.engine());
    model = InitialParameters.into(JobModel.of(job, job.modelOn(data)), job);
    replica = new VectorOnlyModel(model, engine, data.size(), job.exchange().maxMagnitude());
    plan = PartitionPlan.of(job, model.layout());
  }

  @Override
  public Future<JsonObject> call(String name, JsonObject request) {
    Session open = session;
    if (open == null) {
      return Future.failedFuture("no worker uses this strategy");
    }
    if (name.equals("close")) {
      open.stop();
      return onThread(
          () -> {
            if (session == open) {
              end();
            }
            return new JsonObject();
          });
    }
    open.update(ReplicaMessages.read(JobState.class, request));
    return switch (name) {
      case "ping", "membership" -> Future.succeededFuture(new JsonObject());
      case "checkpoint" ->
          open.exchange
              .checkpoint()
              .map(file -> new JsonObject().put("file", file.toString()))
              .otherwise(why -> new JsonObject().put("failed", String.valueOf(why.getMessage())));
      default -> onThread(() -> ReplicaMessages.write(answer(open, name, request)));
    };
  }

  /** Reports a failed rule to the worker, which ends; a changed group does not end it. */
  private Progress answer(Session open, String name, JsonObject request) {
    try {
      return work(open, name, request);
    } catch (GroupChangedException changed) {
      return open.progress(Ending.ABANDONED, Optional.empty(), false, Optional.empty());
    } catch (RuntimeException failure) {
      LOG.error("{} failed", host.address(), failure);
      return open.progress(
          Ending.ABANDONED,
          Optional.empty(),
          false,
          Optional.of(String.valueOf(failure.getMessage())));
    }
  }

  private static Progress work(Session open, String name, JsonObject request) {
    StrategyExchange exchange = open.exchange;
    Optional<Step> step = Optional.empty();
    Ending ending = Ending.COMPLETE;
    boolean finalOffered = false;
    switch (name) {
      case "fetch" -> {
        if (exchange.state().status() == Status.NEEDS_FETCH) {
          ending = exchange.fetch(0).ending();
        }
      }
      case "exchange" -> {
        GradientSent sent = ReplicaMessages.read(GradientSent.class, request);
        step = Optional.of(exchange.exchange(sent.step(), early -> computed(sent)));
        ending = step.get().ending();
      }
      case "hold" -> exchange.offer(request.getLong("version"), false);
      case "end" -> finalOffered = exchange.offer(request.getLong("version"), true);
      case "idle" -> exchange.awaitChange(request.getLong("version"));
      default -> throw new ExchangeException("unknown request " + name);
    }
    return open.progress(ending, step, finalOffered, Optional.empty());
  }

  private static Computed computed(GradientSent sent) {
    double loss = Double.parseDouble(sent.loss());
    return new Computed(0, sent.samples(), sent.samples(), loss, -1, 0, 0, 0);
  }

  /** Handles a frame. The worker's thread waits for each request, so no request runs meanwhile. */
  @Override
  public Future<Frame> handle(Frame frame) {
    Session open = session;
    if (frame instanceof Malformed) {
      return Future.failedFuture("a frame was damaged on its way: " + frame);
    }
    if (open == null) {
      return Future.failedFuture("no worker uses this strategy");
    }
    if (frame instanceof GradientPartition part) {
      part.gradient().copyTo(replica.gradientArray(), Math.toIntExact(part.firstElement()));
      return Future.succeededFuture();
    }
    if (frame instanceof PullRequest pull) {
      Partition part = plan.partitions().get(pull.id().partition());
      FloatBuffer values = FloatBuffer.wrap(open.parameters, part.first(), part.length());
      return Future.succeededFuture(
          new ParameterPartition(
              pull.id(),
              plan.layout(),
              open.self.identity().incarnation(),
              pull.minimumVersion(),
              0,
              Outcome.PULLED,
              part.first(),
              Tensor.copyOf(DataType.FLOAT32, values)));
    }
    return Future.failedFuture("expected a gradient or a pull, found " + frame);
  }

  @Override
  public Future<?> close(String why) {
    Session open = session;
    if (open != null) {
      open.stop();
    }
    Future<Void> closed =
        onThread(
            () -> {
              end();
              if (model != null) {
                model.close();
              }
              return null;
            });
    thread.end();
    return closed;
  }

  private void end() {
    Session open = session;
    session = null;
    if (open != null) {
      open.close();
    }
  }

  private <T> Future<T> onThread(Supplier<T> work) {
    return thread.call(() -> Future.succeededFuture(work.get()));
  }
}
