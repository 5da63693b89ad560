package io.vertigrad.internal.host;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.peer.PeerFrames;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Replica;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A strategy beside one incarnation of a worker: my gradient out, my next parameters back.
 *
 * <p>The rule runs on a thread of its own, so that it may wait for other workers. {@link #open},
 * {@link #settle}, {@link #exchange}, {@link #begin}, {@link #finish}, {@link #idle} and {@link
 * #close} belong to the worker's thread, which blocks in them; arrays pass by reference and belong
 * to whoever works. Once the next parameters were handed over, what the rule can do before the next
 * gradient begins at once.
 */
public final class PeerStrategySession {

  private static final long CLOSE_MILLIS = 2_000;

  private final JobConfig job;
  private final Setup setup;
  private final String address;
  private final PeerStrategyFactory factory;
  private final long lastVersion;
  private final WorkerPeers peers;
  private final ExecutorService thread;
  private volatile boolean closed;
  private volatile ExchangeException gone;
  private volatile CompletableFuture<?> pending = new CompletableFuture<>();
  private CompletableFuture<Next> begun;
  private PeerStrategy strategy;
  private RuntimeException late;
  private double spectralGap;
  private long step;

  /**
   * What a worker brings along.
   *
   * @param self who it is
   * @param name the worker, for people
   * @param layout hash of what its vector means
   * @param replica its parameters, which the strategy steps from now on
   * @param optimizers makes an optimizer of them
   * @param nanoClock monotonic nanoseconds
   * @param patience monotonic nanoseconds that limit how long it waits for others
   * @param track notes what the strategy does
   * @param stop becomes true when this incarnation is to end
   */
  public record Setup(
      SenderIdentity self,
      String name,
      long layout,
      Replica replica,
      Function<OptimizerConfig, Optimizer> optimizers,
      LongSupplier nanoClock,
      LongSupplier patience,
      SpanRecorder track,
      BooleanSupplier stop) {}

  /** What a worker agrees on with a new group, before its strategy does; may block. */
  @FunctionalInterface
  public interface Agreement {

    /**
     * Settles where the worker goes on.
     *
     * @param rule the strategy, which may be given what it remembered
     * @return the group of the strategy; empty when no step can be taken with this one
     */
    Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule);
  }

  /**
   * What a worker goes on with.
   *
   * @param parameters the whole vector, unchanged until the next request
   * @param applied false when the gradient was left out, for it was not finite
   * @param timing what the exchange has cost so far
   */
  public record Next(float[] parameters, boolean applied, ExchangeTiming timing) {}

  PeerStrategySession(
      Vertx vertx, JobConfig job, PeerStrategyFactory factory, Setup setup, String address) {
    this.job = job;
    this.factory = factory;
    this.setup = setup;
    this.address = address;
    this.lastVersion = factory.lastVersion(job.steps(), job.workers().count());
    this.peers =
        new WorkerPeers(
            vertx,
            job,
            setup.layout(),
            setup.self(),
            setup.patience(),
            setup.track(),
            () -> closed || setup.stop().getAsBoolean(),
            PeerFrames.ofStrategies());
    ClassLoader loader = PeerStrategySession.class.getClassLoader();
    this.thread =
        Executors.newSingleThreadExecutor(
            work -> {
              Thread own =
                  new Thread(
                      work, "strategy of %s of %s".formatted(setup.name(), job.addresses().job()));
              own.setDaemon(true);
              own.setContextClassLoader(loader);
              return own;
            });
  }

  /** Makes the rule and listens to other workers; completes when they can send. */
  public Future<Void> open() {
    strategy = ask(() -> factory.create(context()), () -> {});
    return peers.open();
  }

  /** An array that the strategy wants gradients in, once it is open. */
  public Optional<float[]> gradientArray() {
    return strategy.gradientArray();
  }

  /** Tells who takes part from now on; any thread. */
  public void membershipChanged(Membership now) {
    peers.membershipChanged(now);
  }

  /** Makes it look again whether it is to stop; any thread. */
  public void wake() {
    peers.wake();
  }

  /** True while the newest group is one that has this worker and was not settled with. */
  public boolean changed() {
    return peers.regrouped();
  }

  /** True while no newer group than the one settled with was heard of. */
  public boolean current() {
    return peers.current();
  }

  /**
   * Settles with the newest group where to go on.
   *
   * @param fresh true while the worker's parameters are the initial ones; asked when the agreement
   *     is made
   * @return the parameters to start from; empty when no step can be taken with this group
   * @throws GroupChangedException when there is a newer group already
   */
  public Optional<Next> settle(BooleanSupplier fresh, Agreement agreement) {
    return ask(
        () -> {
          late = null;
          Optional<PeerGroup> group = agreement.settle(peers, peers.adopt(), strategy);
          group.ifPresent(
              now -> {
                strategy.open(now, fresh.getAsBoolean());
                spectralGap = strategy.spectralGap();
              });
          return group.map(now -> next(true));
        },
        this::begin);
  }

  /**
   * Takes a gradient, which the rule may overwrite until this returns, and gives the next
   * parameters.
   *
   * @throws GroupChangedException when the round was let go of, without a trace
   */
  public Next exchange(LocalGradient gradient) {
    return ask(() -> completed(() -> strategy.complete(gradient)), this::begin);
  }

  /**
   * Takes a gradient that is still being computed, and returns at once; {@link #finish} is next, or
   * the end of what {@code progress} tells.
   */
  public void begin(LocalGradient gradient, GradientProgress progress) {
    begun = tell(() -> completed(() -> strategy.complete(gradient, progress)), this::begin);
  }

  /**
   * Gives the next parameters after the gradient that was {@linkplain #begin begun} and is there
   * now, as {@link #exchange}.
   */
  public Next finish() {
    return answer(begun);
  }

  private Next completed(Runnable work) {
    if (late != null) {
      throw late;
    }
    long skipped = strategy.timing().skipped();
    work.run();
    step++;
    return next(strategy.timing().skipped() == skipped);
  }

  /** What the rule remembers beside the replica and its optimizers; a copy. */
  public float[] memory() {
    return ask(() -> strategy.memory().clone(), () -> {});
  }

  /** This worker has no step to take: looks after the others, and waits at most some 50 ms. */
  public void idle() {
    ask(
        () -> {
          strategy.idle();
          peers.pause();
          return null;
        },
        () -> {});
  }

  /** What went to and came from whom so far. */
  public TrafficCounters traffic() {
    return peers.traffic();
  }

  /** How fast the workers of the last group approach each other. */
  public double spectralGap() {
    return spectralGap;
  }

  /** The verticle ends before its worker did; any thread. */
  void fail(String why) {
    gone =
        new ExchangeException(
            "%s: its strategy verticle \"%s\" at %s %s; undeploy the worker first"
                .formatted(setup.name(), job.strategy().name(), address, why));
    closed = true;
    peers.wake();
    pending.completeExceptionally(gone);
  }

  /** Lets go of the line to the others; completes when nobody finds it any more. */
  public Future<Void> close() {
    closed = true;
    peers.wake();
    thread.shutdown();
    try {
      thread.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return peers.close();
  }

  /** Has the strategy's thread work, and after its answer go on with what needs no answer. */
  private <T> T ask(Supplier<T> work, Runnable afterwards) {
    return answer(tell(work, afterwards));
  }

  private <T> CompletableFuture<T> tell(Supplier<T> work, Runnable afterwards) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    pending = answer;
    if (gone != null) {
      throw gone;
    }
    try {
      thread.execute(() -> answer(answer, work, afterwards));
      return answer;
    } catch (RejectedExecutionException ended) {
      throw new GroupChangedException("this incarnation has ended");
    }
  }

  private <T> T answer(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      throw explained(failure.getCause());
    }
  }

  private <T> void answer(CompletableFuture<T> answer, Supplier<T> work, Runnable afterwards) {
    try {
      answer.complete(work.get());
    } catch (Throwable failure) {
      answer.completeExceptionally(failure);
      return;
    }
    try {
      afterwards.run();
    } catch (RuntimeException failure) {
      late = failure;
    }
  }

  /** What the rule says to people stays as it is; of anything else they are told whose it is. */
  private RuntimeException explained(Throwable failure) {
    if (failure instanceof ExchangeException || failure instanceof GroupChangedException) {
      return (RuntimeException) failure;
    }
    return new ExchangeException(
        "%s: its strategy \"%s\" at %s failed at step %d: %s"
            .formatted(setup.name(), job.strategy().name(), address, step, failure),
        failure);
  }

  private void begin() {
    if (setup.replica().updates() < lastVersion && peers.current()) {
      long begun = setup.track().now();
      strategy.begin();
      setup.track().span("send", begun, setup.track().now(), step);
    }
  }

  private Next next(boolean applied) {
    return new Next(setup.replica().parameters(), applied, strategy.timing());
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
