package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.StepState;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Asked by a worker before each step: it is closed while the job is paused or while a version must
 * be tested first. {@link #tryBegin} and {@link #await} belong to the worker's thread, the rest may
 * be called by any thread.
 */
final class StepGate {

  private static final long POLL_NANOS = 50_000_000;

  private final WakeSignal wakeSignal = new WakeSignal();
  private final long firstTest;
  private volatile Pause pauseOrder = Pause.NONE;
  private volatile long testAt;
  private volatile boolean finished;
  private long begunVersion;
  private boolean idle;

  /** Creates a gate that never waits for tests. */
  public StepGate() {
    this(EvaluationPlan.NONE);
  }

  /**
   * Creates a gate that closes at the versions to test until each has been tested.
   *
   * @param firstTest first version to test, from which no step begins before the test; {@link
   *     EvaluationPlan#NONE} to never wait for tests
   */
  public StepGate(long firstTest) {
    this.firstTest = firstTest;
    this.testAt = firstTest;
  }

  /** Returns the versions of timed checkpoints that the coordinator has chosen; any thread. */
  public List<Long> saveAt() {
    return pauseOrder.saveAt();
  }

  /** Returns true if a step at this version may begin. */
  public boolean open(long version) {
    return version < pauseOrder.holdFrom() && version < testAt;
  }

  /**
   * Returns true if others need this worker's step at this version, although the job is to stop.
   */
  public boolean mustPass(long version) {
    long hold = pauseOrder.holdFrom();
    return hold != Pause.NONE.holdFrom() && version < hold;
  }

  /** Returns true if the job is paused at this version or an earlier one. */
  public boolean isPausedAt(long version) {
    return version >= pauseOrder.holdFrom();
  }

  /** Returns true if the job ends early, at this version or an earlier one. */
  public boolean ended(long version) {
    Pause newest = pauseOrder;
    return newest.ends() && version >= newest.holdFrom();
  }

  /** Records that a worker that stays after an early end has offered its last version. */
  public void markFinished() {
    finished = true;
  }

  /** Returns true once {@link #markFinished} was called. */
  public boolean finished() {
    return finished;
  }

  /**
   * Begins a step if it may begin. The coordinator's next pause request counts this step, because
   * {@link #apply} returns the version that the step leads to.
   */
  public synchronized boolean tryBegin(long version) {
    boolean open = open(version);
    begunVersion = open ? version + 1 : begunVersion;
    idle = !open;
    return open;
  }

  /** Returns the number of the newest pause order received. */
  long order() {
    return pauseOrder.number();
  }

  /**
   * Records that the worker is in no step and has offered its version to readers.
   *
   * @param order number of the newest pause order before the worker found that it takes no step; a
   *     newer one may let it take another
   */
  synchronized void idle(long order) {
    idle = order == pauseOrder.number();
  }

  /** Returns the last pause order received and whether the worker is in no step. */
  synchronized StepState state(long version) {
    return new StepState(version, pauseOrder.number(), idle);
  }

  /** Waits at most about 50 ms for the gate to open. */
  public void await(long version, BooleanSupplier needless) {
    wakeSignal.await(() -> open(version) || needless.getAsBoolean(), POLL_NANOS);
  }

  /** Applies a pause order. Returns the version that the last begun step leads to. */
  synchronized long apply(Pause pause) {
    idle = idle && pause.number() == pauseOrder.number();
    pauseOrder = pause;
    if (firstTest != EvaluationPlan.NONE && pause.number() > 0) {
      testAt = pause.testAt();
    }
    wakeSignal.wake();
    return begunVersion;
  }

  /** Resets the gate for a new incarnation, which has not begun a step. */
  synchronized void reset() {
    begunVersion = 0;
    finished = false;
    idle = false;
    testAt = firstTest;
  }
}
