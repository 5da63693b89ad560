package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.host.StrategyLink;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
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
  private static final long LOOK_NANOS = 50_000_000;

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
  private RemoteState state = RemoteState.NONE;

  /**
   * What the exchanges of all incarnations have in common.
   *
   * @param run name of the run that checkpoints belong to
   * @param saved receives how many milliseconds the last checkpoint took
   * @param patience monotonic clock in nanoseconds; limits how long the strategy waits for others
   * @param track records what the worker does
   */
  record Setting(
      JobConfig job, String run, LongConsumer saved, LongSupplier patience, SpanRecorder track) {}

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
        new JsonObject()
            .put("rank", self.identity().rank())
            .put("incarnation", self.identity().incarnation())
            .put("firstVersion", self.firstVersion())
            .put("run", setting.run())
            .put("layout", model.layout());
    Future<JsonObject> opening =
        link.open(news(request), () -> news(new JsonObject()), why -> lose(), self.stop());
    FutureAwait.await(opening, self.stop()).orElseThrow(RemoteExchange::ended);
    opened = true;
  }

  private JsonObject news(JsonObject into) {
    return into.put("now", setting.patience().getAsLong())
        .put("pause", RemoteState.write(self.gate().pause()))
        .put("membership", newest.toJson());
  }

  private void lose() {
    lost = true;
    wakeSignal.ring();
  }

  @Override
  public void membershipChanged(Membership now) {
    newest = now;
    if (opened && !lost) {
      link.call("membership", news(new JsonObject()), limitMillis());
    }
    wakeSignal.ring();
  }

  @Override
  public void wake() {
    wakeSignal.ring();
  }

  @Override
  public boolean changed() {
    return lost || state.changed() || isRegrouped();
  }

  private boolean isRegrouped() {
    Membership now = newest;
    return now.epoch() > state.epoch()
        && now.hasWorker(self.identity().rank(), self.identity().incarnation());
  }

  @Override
  public Ending fetch() {
    Ending ending = call("fetch", new JsonObject());
    return ending == Ending.COMPLETE && state.ready() ? load() : ending;
  }

  @Override
  public boolean ready() {
    return !lost && state.ready() && newest.epoch() <= state.epoch();
  }

  @Override
  public long version() {
    return state.version();
  }

  @Override
  public Step exchange(Computed gradient, long step) {
    long begun = setting.track().now();
    float[] values = model.gradient();
    long version = state.version();
    Ending sent =
        all(
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
    JsonObject request =
        new JsonObject()
            .put("step", step)
            .put("samples", gradient.samples())
            .put("loss", Double.toString(gradient.loss()));
    Ending ending = call("exchange", request);
    if (ending == Ending.COMPLETE) {
      ending = load();
    }
    if (ending != Ending.COMPLETE) {
      return Step.without(ending);
    }
    setting.track().span("exchange", begun, setting.track().now(), step);
    return new Step(ending, state.applied(), state.leftOut(), OptionalInt.empty());
  }

  /** Loads the parameters from the strategy into the model. */
  private Ending load() {
    long version = state.version();
    Ending came =
        all(
            part ->
                new PullRequest(
                    self.identity().exchange(state.epoch(), version, part.index()),
                    plan.layout(),
                    version),
            answer -> {
              ParameterPartition part = (ParameterPartition) answer;
              part.parameters().copyTo(parameters, (int) part.firstElement());
            });
    if (came == Ending.COMPLETE) {
      model.load(parameters);
    }
    return came;
  }

  @Override
  public boolean staysForOthers() {
    return true;
  }

  @Override
  public void hold(long version) {
    call("hold", new JsonObject().put("version", version));
  }

  @Override
  public boolean end(long version) {
    return call("end", new JsonObject().put("version", version)) == Ending.COMPLETE
        && state.ended();
  }

  @Override
  public void idle(long version) {
    if (!lost) {
      call("idle", new JsonObject().put("version", version));
    } else {
      wakeSignal.await(() -> false, LOOK_NANOS);
    }
  }

  @Override
  public TrafficCounters traffic() {
    return state.traffic();
  }

  @Override
  public long samplesOfAll() {
    return state.samples();
  }

  @Override
  public List<TrainingEvent> news() {
    return state.news();
  }

  @Override
  public Future<Path> checkpoint() {
    return link.call("checkpoint", news(new JsonObject()), limitMillis())
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
    Future<JsonObject> answer = link.call(name, news(request), limitMillis());
    Optional<JsonObject> came = await(answer);
    if (came.isEmpty()) {
      return lost ? Ending.REJOIN : Ending.ABANDONED;
    }
    state = RemoteState.read(came.get());
    if (state.failure().isPresent()) {
      throw new ExchangeException(state.failure().get());
    }
    setting.saved().accept(state.saveMillis());
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
  private Ending all(Function<Partition, Frame> frames, Consumer<Frame> taker) {
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
