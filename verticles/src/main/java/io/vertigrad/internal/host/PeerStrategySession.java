package io.vertigrad.internal.host;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.events.Scalars;
import io.vertigrad.internal.exchange.RuleException;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.peer.PeerFrames;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.StrategyFactory;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The strategy of one incarnation of a worker: it takes the worker's gradient and returns the next
 * parameters.
 *
 * <p>The rule runs on a separate thread, so that it may wait for other workers. {@link #open},
 * {@link #settle}, {@link #exchange}, {@link #begin}, {@link #finish}, {@link #idle} and {@link
 * #close} belong to the worker's thread, which blocks in them. Arrays are passed by reference and
 * belong to the thread that works, and so does the device that a replica may be on: what one thread
 * does happens before the request or the answer that hands them over. After the next parameters are
 * handed over, the rule's work before the next gradient begins at once, without the device.
 */
public final class PeerStrategySession {

  private static final long CLOSE_MILLIS = 2_000;

  private final JobConfig job;
  private final Setup setup;
  private final String address;
  private final StrategyFactory factory;
  private final long lastVersion;
  private final WorkerPeers peers;
  private final Scalars scalars;
  private final ExecutorService thread;
  private volatile boolean closed;
  private volatile ExchangeException verticleFailure;
  private volatile CompletableFuture<?> pending = new CompletableFuture<>();
  private CompletableFuture<Next> begun;
  private PeerStrategy strategy;
  private boolean opened;
  private Optional<float[]> gradientArray;
  private RuntimeException deferredFailure;
  private Throwable ruleFailure;
  private double spectralGap;
  private long step;

  /**
   * The parts that a worker provides.
   *
   * @param self the worker's identity
   * @param name the worker's name for messages
   * @param layout hash of the layout of its vector
   * @param replica its parameters, which the strategy updates from now on
   * @param optimizers creates an optimizer of the parameters
   * @param nanoClock monotonic clock in nanoseconds
   * @param waitClock monotonic clock in nanoseconds; limits how long the strategy waits for others
   * @param timeline records what the strategy does
   * @param stop returns true when this incarnation has to end
   */
  public record Setup(
      SenderIdentity self,
      String name,
      long layout,
      DeviceReplica replica,
      Function<OptimizerConfig, Optimizer> optimizers,
      LongSupplier nanoClock,
      LongSupplier waitClock,
      SpanRecorder timeline,
      BooleanSupplier stop) {}

  /**
   * The parameters that a worker continues with.
   *
   * @param parameters the whole vector, unchanged until the next request; empty if the model's
   *     device has it
   * @param applied false if the gradient was left out because it was not finite
   * @param timing time that the exchange has taken so far
   */
  public record Next(Optional<float[]> parameters, boolean applied, ExchangeTiming timing) {}

  PeerStrategySession(
      Vertx vertx, JobConfig job, StrategyFactory factory, Setup setup, String address) {
    this.job = job;
    this.factory = factory;
    this.setup = setup;
    this.address = address;
    this.lastVersion = factory.traits().lastVersion(job.steps(), job.workers().count());
    this.scalars = Scalars.of(vertx, job.addresses().job(), setup.name());
    DeviceReplica replica = setup.replica();
    replica.reportTo((name, value) -> scalars.report(name, replica.updates(), value));
    this.peers =
        new WorkerPeers(
            vertx,
            job,
            setup.layout(),
            setup.self(),
            setup.waitClock(),
            setup.timeline(),
            () -> closed || setup.stop().getAsBoolean(),
            PeerFrames.ofStrategies());
    this.thread =
        Executors.newSingleThreadExecutor(
            work -> {
              Thread own =
                  new Thread(
                      work, "strategy of %s of %s".formatted(setup.name(), job.addresses().job()));
              own.setDaemon(true);
              own.setContextClassLoader(PeerStrategySession.class.getClassLoader());
              return own;
            });
  }

  /** Creates the rule and listens to other workers. Completes when they can send. */
  public Future<Void> open() {
    strategy = call(() -> factory.create(context()), () -> {});
    gradientArray = call(strategy::gradientArray, () -> {});
    return peers.open();
  }

  /** Returns the array in which the strategy wants gradients, once the session is open. */
  public Optional<float[]> gradientArray() {
    return gradientArray;
  }

  /** Sets the new membership of the job; any thread. */
  public void membershipChanged(Membership now) {
    peers.membershipChanged(now);
  }

  /** Wakes a waiting thread, so that it checks whether it has to stop; any thread. */
  public void wake() {
    peers.wake();
  }

  /** Returns true if the newest group contains this worker and was not settled yet. */
  public boolean hasNewGroup() {
    return peers.hasNewGroup();
  }

  /** Returns true if there is no newer group than the settled one. */
  public boolean isCurrent() {
    return peers.current();
  }

  /**
   * Begins with the newest group, at a state that all its workers agree on.
   *
   * @param fresh returns true while the worker's parameters are the initial ones; called after the
   *     agreement
   * @param agreement takes the newest group and the strategy, whose memory may be restored, and
   *     returns the group of the strategy; empty if no step can be taken with this group. May block
   * @return the parameters to start from; empty if no step can be taken with this group
   * @throws GroupChangedException if there is a newer group already
   */
  public Optional<Next> settle(
      BooleanSupplier fresh, BiFunction<PeerGroup, PeerStrategy, Optional<PeerGroup>> agreement) {
    return call(
        () -> {
          deferredFailure = null;
          opened = false;
          Optional<PeerGroup> group = agreement.apply(peers.adopt(), strategy);
          group.ifPresent(
              now -> {
                strategy.open(now, fresh.getAsBoolean());
                opened = true;
                spectralGap = strategy.spectralGap();
              });
          return group.map(now -> next(true));
        },
        this::begin);
  }

  /**
   * Takes a gradient and returns the next parameters. The rule may overwrite the gradient until
   * this method returns.
   *
   * @throws GroupChangedException if the round was given up without changing anything
   */
  public Next exchange(LocalGradient gradient) {
    return call(() -> complete(() -> strategy.complete(gradient)), this::begin);
  }

  /**
   * Takes a gradient that is still being computed, and returns at once. Call {@link #finish} next,
   * or end what {@code progress} reports.
   */
  public void begin(LocalGradient gradient, GradientProgress progress) {
    begun = submit(() -> complete(() -> strategy.complete(gradient, progress)), this::begin);
  }

  /**
   * Returns the next parameters for the gradient that was {@linkplain #begin begun} and is complete
   * now. See {@link #exchange}.
   */
  public Next finish() {
    return answer(begun);
  }

  private Next complete(Runnable work) {
    if (deferredFailure != null) {
      throw deferredFailure;
    }
    long skipped = strategy.timing().skipped();
    work.run();
    step++;
    if (setup.replica().updates() >= lastVersion) {
      scalars.flush();
    }
    return next(strategy.timing().skipped() == skipped);
  }

  /** Returns a copy of the rule's memory, which is not in the replica or its optimizers. */
  public float[] memory() {
    return call(() -> strategy.memory().clone(), () -> {});
  }

  /**
   * Handles other workers' requests while there is no step to take, and waits at most about 50 ms.
   */
  public void idle() {
    call(
        () -> {
          strategy.idle();
          peers.awaitChange();
          return null;
        },
        () -> {});
  }

  /** Returns the bytes sent to and received from each worker so far. */
  public TrafficCounters traffic() {
    return peers.traffic();
  }

  /** Returns how fast the workers of the last group approach each other. */
  public double spectralGap() {
    return spectralGap;
  }

  /** Fails the session because the verticle ends before its worker; any thread. */
  void fail(String why) {
    verticleFailure =
        new ExchangeException(
            "%s: its strategy verticle \"%s\" at %s %s; undeploy the worker first"
                .formatted(setup.name(), job.strategy().name(), address, why));
    closed = true;
    peers.wake();
    pending.completeExceptionally(verticleFailure);
  }

  /** Closes the connection to other workers. Completes when they can no longer reach it. */
  public Future<Void> close() {
    closed = true;
    peers.wake();
    thread.shutdown();
    try {
      thread.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    scalars.flush();
    return peers.close();
  }

  /** Runs work on the strategy's thread, and after its answer runs {@code followUp} there. */
  private <T> T call(Supplier<T> work, Runnable followUp) {
    return answer(submit(work, followUp));
  }

  private <T> CompletableFuture<T> submit(Supplier<T> work, Runnable followUp) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    pending = answer;
    if (verticleFailure != null) {
      throw verticleFailure;
    }
    try {
      thread.execute(() -> answer(answer, work, followUp));
      return answer;
    } catch (RejectedExecutionException ended) {
      throw new GroupChangedException("this incarnation has ended");
    }
  }

  private <T> T answer(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      throw withContext(failure.getCause());
    }
  }

  /**
   * Runs work and then, after its answer, the follow-up. If the exchange with others fails in the
   * follow-up, the next step fails. After the rule has failed no more work is done: it may have
   * done half of something.
   */
  private <T> void answer(CompletableFuture<T> answer, Supplier<T> work, Runnable followUp) {
    try {
      if (ruleFailure != null) {
        throw ruleFailure;
      }
      answer.complete(work.get());
      followUp.run();
    } catch (GroupChangedException | ExchangeException failure) {
      deferredFailure = answer.completeExceptionally(failure) ? deferredFailure : failure;
    } catch (Throwable failure) {
      ruleFailure = failure;
      answer.completeExceptionally(failure);
    }
  }

  /** Keeps the errors of exchanges; all others are the rule's, unless this worker is stopping. */
  private RuntimeException withContext(Throwable failure) {
    if (failure instanceof ExchangeException || failure instanceof GroupChangedException) {
      return (RuntimeException) failure;
    }
    boolean stopping = closed || setup.stop().getAsBoolean();
    return stopping || failure instanceof RejectedExecutionException
        ? new ExchangeException(setup.name() + " is stopping: " + failure, failure)
        : new RuleException(job.strategy().name(), "step " + step, failure);
  }

  private void begin() {
    if (opened && setup.replica().updates() < lastVersion && peers.current()) {
      long begun = setup.timeline().now();
      strategy.begin();
      setup.timeline().span("send", begun, setup.timeline().now(), step);
    }
  }

  private Next next(boolean applied) {
    return new Next(
        setup.replica().beginGradient(strategy.beginsWithParameters()), applied, strategy.timing());
  }

  private PeerContext context() {
    return new PeerContext(
        peers,
        setup.replica(),
        setup.optimizers(),
        job.optimizer(),
        job.replicas(),
        job.workers().batch(),
        job.exchange().type(),
        job.exchange().compression(),
        job.exchange().partitionElements(),
        setup.nanoClock());
  }
}
