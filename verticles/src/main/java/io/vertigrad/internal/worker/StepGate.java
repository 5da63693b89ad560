package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.StepState;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.function.BooleanSupplier;

/**
 * Asked by a worker before each step: it is closed while the job is paused or while a version must
 * be tested first. {@link #enter} and {@link #await} belong to the worker's thread, the rest may be
 * called by any thread.
 */
final class StepGate {

  private static final long LOOK_NANOS = 50_000_000;

  private final WakeSignal bell = new WakeSignal();
  private final long firstTest;
  private volatile Pause word = Pause.NONE;
  private volatile long testAt;
  private volatile boolean resting;
  private long begun;
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

  /** Returns the version at which all members write a timed checkpoint; 0 for none. */
  public long saveAt() {
    return word.saveAt();
  }

  /** Returns the coordinator's newest pause order. */
  Pause pause() {
    return word;
  }

  /** Returns true if a step at this version may begin. */
  public boolean open(long version) {
    return version < word.holdFrom() && version < testAt;
  }

  /** Returns true if the job is paused at this version or an earlier one. */
  public boolean held(long version) {
    return version >= word.holdFrom();
  }

  /** Returns true if the job ends early, at this version or an earlier one. */
  public boolean ended(long version) {
    Pause newest = word;
    return newest.ends() && version >= newest.holdFrom();
  }

  /** Records that a worker that stays after an early end has offered its last version. */
  public void rest() {
    resting = true;
  }

  /** Returns true once {@link #rest} was called. */
  public boolean resting() {
    return resting;
  }

  /**
   * Begins a step if it may begin. The coordinator's next pause request counts this step, because
   * {@link #obey} returns the version that the step leads to.
   */
  public synchronized boolean enter(long version) {
    boolean open = open(version);
    begun = open ? version + 1 : begun;
    idle = !open;
    return open;
  }

  /** Records that the worker is in no step and has offered its version to readers. */
  public synchronized void idle() {
    idle = true;
  }

  /** Returns the last pause order received and whether the worker is in no step. */
  synchronized StepState state(long version) {
    return new StepState(version, word.number(), idle);
  }

  /** Waits at most about 50 ms for the gate to open. */
  public void await(long version, BooleanSupplier needless) {
    bell.await(() -> open(version) || needless.getAsBoolean(), LOOK_NANOS);
  }

  /** Applies a pause order. Returns the version that the last begun step leads to. */
  synchronized long obey(Pause pause) {
    word = pause;
    if (firstTest != EvaluationPlan.NONE && pause.number() > 0) {
      testAt = pause.testAt();
    }
    bell.ring();
    return begun;
  }

  /** Resets the gate for a new incarnation, which has not begun a step. */
  synchronized void reset() {
    begun = 0;
    resting = false;
    idle = false;
    testAt = firstTest;
  }
}
