package io.vertigrad.internal.worker;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.internal.exchange.PartitionExchange.Ending;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;

/**
 * A worker's work: joins, pulls, then batch, gradient, exchange until the last version.
 *
 * <p>{@link #run()} belongs to the thread that owns the model; {@link #stop}, {@link #evicted} and
 * {@link #progress} may be called by any.
 */
public final class TrainingLoop implements WorkerTask {

  private static final long SNAPSHOT_NANOS = 50_000_000;
  private static final int FRUITLESS_JOINS = 5;

  private final Model model;
  private final TrainingPlan plan;
  private final PartitionExchange exchange;
  private final JoinRequester requester;
  private final BatchesOfRank batches;
  private final LongSupplier nanoClock;
  private final StepGate gate;
  private volatile boolean stopping;
  private volatile SenderIdentity evicted;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private long snapshotNanos;

  /**
   * @param data opens the batches of a rank; closed by the loop
   * @param nanoClock monotonic time in nanoseconds
   */
  public TrainingLoop(
      Model model,
      TrainingPlan plan,
      PartitionExchange exchange,
      JoinRequester requester,
      IntFunction<BatchSource> data,
      LongSupplier nanoClock) {
    this.model = model;
    this.plan = plan;
    this.exchange = exchange;
    this.requester = requester;
    this.batches = new BatchesOfRank(data);
    this.nanoClock = nanoClock;
    this.gate = requester.gate();
  }

  /**
   * Trains until the job's last version.
   *
   * @return true when it was reached, or the job ended early; false when told to stop before
   * @throws ExchangeException when the servers cannot be worked with; the message says why
   */
  @Override
  public boolean run() {
    try (batches) {
      int fruitless = 0;
      while (!stopping) {
        Optional<Membership.Member> member = requester.join();
        if (member.isEmpty()) {
          return false;
        }
        TrainingSession session = session(member.get());
        if (train(session, member.get().rank())) {
          return true;
        }
        fruitless = session.fruitful() ? 0 : fruitless + 1;
        refuseEndlessJoining(fruitless, member.get());
      }
      return false;
    }
  }

  @Override
  public void stop() {
    stopping = true;
    exchange.wake();
  }

  @Override
  public void evicted(int rank, int incarnation) {
    evicted = new SenderIdentity(plan.job(), rank, incarnation);
    exchange.wake();
  }

  /** Counters, at most some 50 ms behind while it runs, exact when it has ended. */
  @Override
  public LoopProgress progress() {
    return progress;
  }

  private boolean train(TrainingSession session, int rank) {
    snapshotNanos = nanoClock.getAsLong();
    try {
      Ending ending = session.pull();
      while (ending == Ending.COMPLETE && !session.interrupted()) {
        if (session.finished() || gate.ended(session.version())) {
          return true;
        }
        if (!gate.enter(session.version())) {
          progress = session.progress();
          gate.await(session.version(), session::interrupted);
          continue;
        }
        ending = session.step(batches.of(rank));
        long now = nanoClock.getAsLong();
        if (now - snapshotNanos >= SNAPSHOT_NANOS) {
          snapshotNanos = now;
          progress = session.progress();
        }
      }
      return false;
    } finally {
      progress = session.progress();
    }
  }

  private TrainingSession session(Membership.Member member) {
    SenderIdentity identity = new SenderIdentity(plan.job(), member.rank(), member.incarnation());
    return new TrainingSession(
        model,
        plan,
        exchange,
        identity,
        plan.lockstep() ? member.activeFrom() : 0,
        nanoClock,
        requester.track(),
        requester::epochTrained,
        () -> stopping || identity.equals(evicted));
  }

  private void refuseEndlessJoining(int fruitless, Membership.Member member) {
    if (fruitless > FRUITLESS_JOINS && !stopping) {
      throw new ExchangeException(
          ("worker %d joined %d times in a row and was refused before a step was answered, last as"
                  + " incarnation %d; do servers and coordinator belong to the same job?")
              .formatted(member.rank(), fruitless, member.incarnation()));
    }
  }
}
