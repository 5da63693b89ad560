package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * A member's work in a job without servers: joins, works as what it became until the job is over or
 * it is not welcome any more, and then joins again.
 *
 * @param <S> what it does as one incarnation
 */
public abstract class PeerTask<S extends PeerTask.Session> implements WorkerTask {

  /**
   * One incarnation's work; {@code membershipChanged} and {@code wake} may come from any thread.
   */
  public interface Session {

    /** Listens to the others; blocks until they can send. */
    void open();

    /** Tells who takes part from now on. */
    void membershipChanged(Membership now);

    /** Makes it look again whether it is to end. */
    void wake();

    /** Counters. */
    LoopProgress progress();

    /** Lets go of all addresses. */
    void close();
  }

  private final JoinRequester requester;
  private final long job;
  private volatile boolean stopping;
  private volatile SenderIdentity evicted;
  private volatile Membership newest = Membership.NONE;
  private volatile S session;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private volatile long samples;

  /**
   * Work that has not begun.
   *
   * @param job the job's number in frames
   */
  protected PeerTask(JoinRequester requester, long job) {
    this.requester = requester;
    this.job = job;
  }

  /**
   * Prepares one incarnation's work.
   *
   * @param stop becomes true when this incarnation is to end
   */
  protected abstract S prepare(SenderIdentity identity, StepGate gate, BooleanSupplier stop);

  /** Works as one incarnation until told to end; {@link #publish} shows how far it is. */
  protected abstract void work(S session, int rank);

  /** Whether the job's last version was reached. */
  protected abstract boolean finished();

  /** Samples that all members have applied together. */
  protected abstract double samples();

  @Override
  public boolean run() {
    while (!stopping) {
      Optional<Membership.Member> member = requester.join();
      if (member.isEmpty()) {
        return finished();
      }
      become(member.get());
    }
    return finished();
  }

  /** Tells who takes part from now on. */
  public final void membershipChanged(Membership now) {
    newest = now;
    S running = session;
    if (running != null) {
      running.membershipChanged(now);
    }
  }

  @Override
  public final void stop() {
    stopping = true;
    wake();
  }

  @Override
  public final void evicted(int rank, int incarnation) {
    evicted = new SenderIdentity(job, rank, incarnation);
    wake();
  }

  @Override
  public final LoopProgress progress() {
    return progress;
  }

  @Override
  public final long samplesOfAll() {
    return samples;
  }

  /** Shows others how far it is. */
  protected void publish(S from) {
    samples = Math.round(samples());
    progress = from.progress();
  }

  private void become(Membership.Member member) {
    SenderIdentity identity = new SenderIdentity(job, member.rank(), member.incarnation());
    S starting = prepare(identity, requester.gate(), () -> stopping || identity.equals(evicted));
    session = starting;
    try {
      starting.open();
      starting.membershipChanged(newest);
      work(starting, member.rank());
    } finally {
      publish(starting);
      session = null;
      starting.close();
    }
  }

  /** What it does now; empty between two incarnations. */
  protected final Optional<S> current() {
    return Optional.ofNullable(session);
  }

  private void wake() {
    S running = session;
    if (running != null) {
      running.wake();
    }
  }
}
