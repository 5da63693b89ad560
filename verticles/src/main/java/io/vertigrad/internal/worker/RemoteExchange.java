package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.host.StrategyLink;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ReplicaMessages.GradientSent;
import io.vertigrad.internal.worker.ReplicaMessages.JobState;
import io.vertigrad.internal.worker.ReplicaMessages.Opening;
import io.vertigrad.internal.worker.ReplicaMessages.Progress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * The exchange with a strategy verticle in another JVM. The worker sends its gradient there and
 * gets the next parameters back, as it does with a server. A {@link RemoteWorker} in that JVM does
 * everything else that a worker without servers does for others. If that process is lost, this
 * incarnation ends and the worker joins again, as if the worker itself had been lost.
 */
final class RemoteExchange implements ParameterExchange {

  private static final long CLOSE_NANOS = 2_000_000_000;
  private static final long CLOSE_MILLIS = 1_500;
  private static final long POLL_NANOS = 50_000_000;

  private final StrategyLink link;
  private final Setting setting;
  private final Incarnation self;
  private final VectorModel model;
  private final PartitionPlan plan;
  private final float[] parameters;
  private final WakeSignal wakeSignal = new WakeSignal();
  private volatile Membership newest = Membership.NONE;
  private volatile boolean lost;
  private volatile boolean opened;
  private Progress state = Progress.NONE;

  /**
   * The settings that the exchanges of all incarnations share.
   *
   * @param run name of the run that checkpoints belong to
   * @param onSaved receives how many milliseconds the last checkpoint took
   * @param waitClock monotonic clock in nanoseconds; limits how long the strategy waits for others
   * @param timeline records what the worker does
   */
  record Setting(
      JobConfig job,
      String run,
      LongConsumer onSaved,
      LongSupplier waitClock,
      SpanRecorder timeline) {}

  RemoteExchange(
      StrategyLink link, Setting setting, Incarnation self, VectorModel model, PartitionPlan plan) {
    this.link = link;
    this.setting = setting;
    this.self = self;
    this.model = model;
    this.plan = plan;
    this.parameters = new float[model.vector().length()];
  }

  @Override
  public void open() {
    JsonObject request =
        ReplicaMessages.write(
            new Opening(
                self.identity().rank(),
                self.identity().incarnation(),
                self.firstVersion(),
                setting.run(),
                model.layout()));
    Future<JsonObject> opening =
        link.open(request.mergeIn(jobState()), this::jobState, why -> onLost(), self.stop());
    FutureAwait.await(opening, self.stop()).orElseThrow(RemoteExchange::ended);
    opened = true;
  }

  private JsonObject jobState() {
    return ReplicaMessages.write(
        new JobState(setting.waitClock().getAsLong(), self.gate().pause(), newest));
  }

  private void onLost() {
    lost = true;
    wakeSignal.wake();
  }

  @Override
  public void membershipChanged(Membership now) {
    newest = now;
    if (opened && !lost) {
      link.call("membership", jobState(), limitMillis());
    }
    wakeSignal.wake();
  }

  @Override
  public void wake() {
    wakeSignal.wake();
  }

  @Override
  public State state() {
    return new State(status(), state.version());
  }

  private Status status() {
    if (lost || state.status() == Status.NEEDS_FETCH || isRegrouped()) {
      return Status.NEEDS_FETCH;
    }
    boolean ready = state.status() == Status.READY && newest.epoch() <= state.epoch();
    return ready ? Status.READY : Status.WAITING;
  }

  private boolean isRegrouped() {
    Membership now = newest;
    return now.epoch() > state.epoch()
        && now.hasWorker(self.identity().rank(), self.identity().incarnation());
  }

  @Override
  public Fetch fetch(long step) {
    Ending ending = call("fetch", new JsonObject());
    if (ending == Ending.COMPLETE && state.status() == Status.READY) {
      ending = load();
    }
    return new Fetch(ending, state.version(), step);
  }

  @Override
  public Step exchange(long step, Computation computation) {
    Computed gradient = computation.compute(Optional.empty());
    long begun = setting.timeline().now();
    float[] values = model.gradient();
    long version = state.version();
    Ending sent =
        sendAll(
            part ->
                new GradientPartition(
                    self.identity().exchange(state.epoch(), step, part.index()),
                    plan.layout(),
                    version,
                    gradient.samples(),
                    part.first(),
                    Tensor.copyOf(
                        DataType.FLOAT32, FloatBuffer.wrap(values, part.first(), part.length()))),
            acknowledged -> {});
    if (sent != Ending.COMPLETE) {
      return Step.without(sent);
    }
    Ending ending =
        call(
            "exchange",
            ReplicaMessages.write(
                new GradientSent(step, gradient.samples(), Double.toString(gradient.loss()))));
    if (ending == Ending.COMPLETE) {
      ending = load();
    }
    if (ending != Ending.COMPLETE) {
      return Step.without(ending);
    }
    setting.timeline().span("exchange", begun, setting.timeline().now(), step);
    return new Step(
        ending,
        state.applied(),
        state.leftOut(),
        OptionalInt.empty(),
        state.version(),
        state.traffic());
  }

  /** Loads the parameters from the strategy into the model. */
  private Ending load() {
    long version = state.version();
    Ending answered =
        sendAll(
            part ->
                new PullRequest(
                    self.identity().exchange(state.epoch(), version, part.index()),
                    plan.layout(),
                    version),
            answer -> {
              ParameterPartition part = (ParameterPartition) answer;
              part.parameters().copyTo(parameters, (int) part.firstElement());
            });
    if (answered == Ending.COMPLETE) {
      model.load(parameters);
    }
    return answered;
  }

  @Override
  public boolean offer(long version, boolean last) {
    JsonObject request = new JsonObject().put("version", version);
    return call(last ? "end" : "hold", request) == Ending.COMPLETE && state.finalOffered();
  }

  @Override
  public void awaitChange(long version) {
    if (!lost) {
      call("idle", new JsonObject().put("version", version));
    } else {
      wakeSignal.await(() -> false, POLL_NANOS);
    }
  }

  @Override
  public Report report() {
    return new Report(state.samples(), state.events());
  }

  @Override
  public Future<Path> checkpoint() {
    return link.call("checkpoint", jobState(), limitMillis())
        .compose(
            answer ->
                answer.containsKey("file")
                    ? Future.succeededFuture(Path.of(answer.getString("file")))
                    : Future.failedFuture(answer.getString("failed")));
  }

  @Override
  public void close() {
    if (opened && !lost) {
      long limit = System.nanoTime() + CLOSE_NANOS;
      FutureAwait.await(
          link.call("close", new JsonObject(), CLOSE_MILLIS).otherwiseEmpty(),
          () -> System.nanoTime() > limit);
    }
    link.close();
  }

  /** Runs a request on the strategy's thread and stores the state that the answer reports. */
  private Ending call(String name, JsonObject request) {
    Future<JsonObject> answer = link.call(name, request.mergeIn(jobState()), limitMillis());
    Optional<JsonObject> answered = await(answer);
    if (answered.isEmpty()) {
      return lost ? Ending.REJOIN : Ending.ABANDONED;
    }
    state = ReplicaMessages.read(Progress.class, answered.get());
    if (state.failure().isPresent()) {
      throw new ExchangeException(state.failure().get());
    }
    setting.onSaved().accept(state.saveMillis());
    return state.ending();
  }

  /** Returns empty if the strategy is lost or this incarnation ends. */
  private <T> Optional<T> await(Future<T> answer) {
    try {
      return FutureAwait.await(answer, () -> lost || self.stop().getAsBoolean());
    } catch (RuntimeException failed) {
      link.lose(String.valueOf(failed.getMessage()));
      lost = true;
      return Optional.empty();
    }
  }

  /** Sends a frame for each partition, as many at once as the window allows. */
  private Ending sendAll(Function<Partition, Frame> frames, Consumer<Frame> taker) {
    Promise<Boolean> done = Promise.promise();
    List<Partition> parts = plan.partitions();
    AtomicInteger next = new AtomicInteger();
    AtomicInteger missing = new AtomicInteger(parts.size());
    long bytes = parts.stream().mapToLong(Partition::length).max().orElse(1) * Float.BYTES;
    long window = Math.max(1, setting.job().exchange().windowBytes() / bytes);
    for (int i = 0; i < Math.min(window, parts.size()); i++) {
      next(parts, next, missing, frames, taker, done);
    }
    return await(done.future()).isPresent()
        ? Ending.COMPLETE
        : lost ? Ending.REJOIN : Ending.ABANDONED;
  }

  private void next(
      List<Partition> parts,
      AtomicInteger next,
      AtomicInteger missing,
      Function<Partition, Frame> frames,
      Consumer<Frame> taker,
      Promise<Boolean> done) {
    int index = next.getAndIncrement();
    if (index >= parts.size()) {
      return;
    }
    link.send(
        frames.apply(parts.get(index)),
        limitMillis(),
        (answer, failure) -> {
          if (failure != null) {
            done.tryFail(failure);
            return;
          }
          try {
            taker.accept(answer);
          } catch (RuntimeException malformed) {
            done.tryFail(malformed);
            return;
          }
          if (missing.decrementAndGet() == 0) {
            done.tryComplete(true);
          } else {
            next(parts, next, missing, frames, taker, done);
          }
        });
  }

  /** Returns a limit that is longer than any wait inside the strategy. */
  private long limitMillis() {
    return 4 * setting.job().exchange().deadlineMillis();
  }

  private static GroupChangedException ended() {
    return new GroupChangedException("this incarnation has ended");
  }
}
