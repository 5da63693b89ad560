package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.GroupChangedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The replica of a worker that runs beside its strategy, while its gradients are computed in
 * another JVM by a {@link GradientSender}. It answers that JVM as a server does: a gradient is
 * answered with the next parameters.
 *
 * <p>Each gradient that the training loop wants is a turn, counted from 1. A request is answered
 * with the parameters of the first turn after its own. If it is repeated meanwhile, only the newest
 * one is answered, because each answer is as large as the partition. {@link #handle} and {@link
 * #computed} run on event loops, everything else belongs to the training loop's thread.
 */
final class ReceivedGradients extends VectorModel implements AutoCloseable {

  private static final long POLL_MILLIS = 50;

  private final PartitionPlan plan;
  private final float[] parameters;
  private final float[] gradient;
  private final Map<Integer, WaitingRequest> waiting = new TreeMap<>();
  private final Set<Integer> missing = new HashSet<>();
  private Transport.Listening listening;
  private Incarnation self;
  private Optional<GradientSource.Computed> computed = Optional.empty();
  private boolean open;
  private boolean closed;
  private long turn;
  private long version;

  /** The newest request for a partition, and its answer. */
  private record WaitingRequest(ExchangeId id, Promise<Frame> answer) {}

  /**
   * Creates a model that receives no gradients yet.
   *
   * @param initial has the initial parameters
   */
  ReceivedGradients(Model initial, Engine engine, TrainingPlan training, long trainingSamples) {
    super(
        initial,
        engine,
        training.clipNorm(),
        new DeviceReplica(
            read(initial), initial.layout(), trainingSamples, training.maxMagnitude()));
    plan = training.partitions();
    parameters = new float[vector().length()];
    gradient = new float[vector().length()];
  }

  private static float[] read(Model model) {
    float[] parameters = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    return parameters;
  }

  /** Listens for the gradients of a session. Blocks until the other JVM can send them. */
  void open(Vertx vertx, MovedMember session) {
    Future<Transport.Listening> found = Transport.borrow(vertx, session.frames(), this::handle);
    listening = FutureAwait.await(found, () -> false).orElseThrow();
    session.onComputed(this::computed);
  }

  /** Returns the source of an incarnation of the training loop: the received gradients. */
  GradientSource source(Incarnation begun) {
    self = begun;
    return this::compute;
  }

  private synchronized GradientSource.Computed compute(
      long ofVersion, long step, Optional<ParameterExchange.Overlap> ignored) {
    turn++;
    version = ofVersion;
    computed = Optional.empty();
    plan.partitions().forEach(part -> missing.add(part.index()));
    open = true;
    waiting.forEach((index, request) -> request.answer().complete(answer(index)));
    waiting.clear();
    try {
      while (!missing.isEmpty() || computed.isEmpty()) {
        if (self.stop().getAsBoolean()) {
          throw new GroupChangedException("this incarnation has ended");
        }
        wait(POLL_MILLIS);
      }
      return computed.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GroupChangedException("this worker is stopping");
    } finally {
      open = false;
    }
  }

  synchronized Future<Frame> handle(Frame frame) {
    if (frame instanceof PullRequest pull) {
      return answerAfter(0, pull.id());
    }
    if (frame instanceof GradientPartition part) {
      int index = part.id().partition();
      if (open && part.id().step() == turn && missing.remove(index)) {
        part.gradient().copyTo(gradient, Math.toIntExact(part.firstElement()));
        notifyAll();
      }
      return answerAfter(part.id().step(), part.id());
    }
    return frame instanceof Malformed
        ? Future.succeededFuture(frame)
        : Future.failedFuture(
            "expected a gradient or a pull, found " + frame.getClass().getSimpleName());
  }

  private Future<Frame> answerAfter(long ofTurn, ExchangeId id) {
    if (closed) {
      return Future.succeededFuture(ended(id));
    }
    if (open && ofTurn < turn) {
      return Future.succeededFuture(answer(id.partition()));
    }
    WaitingRequest newest = new WaitingRequest(id, Promise.promise());
    waiting.put(id.partition(), newest);
    return newest.answer().future();
  }

  private static Refusal ended(ExchangeId id) {
    return new Refusal(id, Reason.UNAVAILABLE, "the worker beside the strategy has ended");
  }

  /** The identity says whose parameters these are, and for which turn. */
  private ParameterPartition answer(int index) {
    Partition part = plan.partitions().get(index);
    return new ParameterPartition(
        self.identity().exchange(0, turn, index),
        plan.layout(),
        0,
        version,
        0,
        Outcome.PULLED,
        part.first(),
        Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(parameters, part.first(), part.length())));
  }

  synchronized void computed(JsonObject facts) {
    if (open && facts.getLong("turn") == turn) {
      computed = Optional.of(GradientSender.read(facts));
      notifyAll();
    }
  }

  /** Copies parameters for the other JVM. */
  @Override
  public void load(float[] next) {
    System.arraycopy(next, 0, parameters, 0, next.length);
  }

  /** Copies elements that the other JVM has computed. */
  @Override
  public float[] gradient(int first, int end) {
    float[] array = gradientArray();
    System.arraycopy(gradient, first, array, first, end - first);
    return array;
  }

  /** Stops listening. */
  @Override
  public synchronized void close() {
    closed = true;
    if (listening != null) {
      listening.close();
    }
    waiting.forEach((index, request) -> request.answer().complete(ended(request.id())));
    waiting.clear();
  }
}
