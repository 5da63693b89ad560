package io.vertigrad.internal.worker;

import io.vertigrad.internal.host.PeerStrategySession;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;

/**
 * A gradient that goes to the worker's strategy verticle while it is still being computed. Final
 * elements are copied to the strategy's array and reported to its follower.
 *
 * <p>{@link #await} and {@link #follow} belong to the strategy's thread, everything else to the
 * worker's thread.
 */
final class OverlappedGradient implements ParameterExchange.Overlap, GradientProgress {

  private static final Follower NOBODY = (first, end) -> {};

  private final ReplicaModel model;
  private final PeerStrategySession session;
  private final int trainable;
  private Follower follower = NOBODY;
  private int readyFrom;
  private boolean complete;
  private boolean over;

  /** Creates a gradient that has not begun. */
  OverlappedGradient(ReplicaModel model, PeerStrategySession session) {
    this.model = model;
    this.session = session;
    this.trainable = model.vector().trainable();
    this.readyFrom = trainable;
  }

  @Override
  public void begin(int samples) {
    session.begin(new LocalGradient(model.gradient(trainable, trainable), samples), this);
  }

  @Override
  public synchronized void ready(int first) {
    model.gradient(first, readyFrom);
    int end = readyFrom;
    readyFrom = first;
    follower.ready(first, end);
  }

  /** Marks the whole gradient as final. */
  synchronized void complete() {
    if (readyFrom > 0) {
      ready(0);
    }
    int length = model.vector().length();
    model.gradient(trainable, length);
    complete = true;
    follower.ready(trainable, length);
    notifyAll();
  }

  /** Ends the gradient: the rest will not come, or nobody needs it. */
  synchronized void end() {
    follower = NOBODY;
    over = true;
    notifyAll();
  }

  @Override
  public synchronized void await() {
    try {
      while (!complete && !over) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (!complete) {
      throw new GroupChangedException("this incarnation has ended");
    }
  }

  @Override
  public synchronized void follow(Follower now) {
    follower = over ? NOBODY : now;
    if (readyFrom < trainable) {
      follower.ready(readyFrom, trainable);
    }
    if (complete) {
      follower.ready(trainable, model.vector().length());
    }
  }
}
