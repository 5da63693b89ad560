package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.membership.Pause;
import io.vertigrad.internal.membership.StepState;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.function.BooleanSupplier;

/**
 * Where a worker asks, before each step, whether the job is paused, or its version is to be tested
 * first. {@link #enter} and {@link #await} belong to the worker's thread, the rest to any.
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

  /** A gate that never waits for tests. */
  public StepGate() {
    this(EvaluationPlan.NONE);
  }

  /**
   * A gate that is told when a version has been tested.
   *
   * @param firstTest version from which no step begins before that; {@link EvaluationPlan#NONE} to
   *     never wait for tests
   */
  public StepGate(long firstTest) {
    this.firstTest = firstTest;
    this.testAt = firstTest;
  }

  /** Version of which all members write a checkpoint, where that is left to time; 0 for none. */
  public long saveAt() {
    return word.saveAt();
  }

  /** The coordinator's newest word. */
  Pause pause() {
    return word;
  }

  /** True while a step at this version may begin. */
  public boolean open(long version) {
    return version < word.holdFrom() && version < testAt;
  }

  /** True while the job is paused at this version, or at one before. */
  public boolean held(long version) {
    return version >= word.holdFrom();
  }

  /** True when the job ends early, at this version or at one before. */
  public boolean ended(long version) {
    Pause newest = word;
    return newest.ends() && version >= newest.holdFrom();
  }

  /** A worker that stays after an early end has shown what it holds. */
  public void rest() {
    resting = true;
  }

  /** True from then on. */
  public boolean resting() {
    return resting;
  }

  /**
   * Begins a step, if it may begin; whoever pauses the job hears of it then or later, but never
   * not.
   */
  public synchronized boolean enter(long version) {
    boolean open = open(version);
    begun = open ? version + 1 : begun;
    idle = !open;
    return open;
  }

  /** The worker is in no step, and has shown what it holds to whoever reads it. */
  public synchronized void idle() {
    idle = true;
  }

  /** For the coordinator: the last word heard of, and if the worker is in no step. */
  synchronized StepState state(long version) {
    return new StepState(version, word.number(), idle);
  }

  /** Waits for the gate to open, at most some 50 ms. */
  public void await(long version, BooleanSupplier needless) {
    bell.await(() -> open(version) || needless.getAsBoolean(), LOOK_NANOS);
  }

  /** Takes a pause over; the version to which the last step leads that was begun. */
  synchronized long obey(Pause pause) {
    word = pause;
    if (firstTest != EvaluationPlan.NONE && pause.number() > 0) {
      testAt = pause.testAt();
    }
    bell.ring();
    return begun;
  }

  /** Another incarnation begins, which has begun nothing. */
  synchronized void reset() {
    begun = 0;
    resting = false;
    idle = false;
    testAt = firstTest;
  }
}
