package io.vertigrad.verticles.worker;

import io.vertigrad.verticles.coordinator.Pause;
import io.vertigrad.verticles.exchange.Doorbell;
import io.vertx.core.json.JsonObject;
import java.util.function.BooleanSupplier;

/**
 * Where a worker asks, before each step, whether the job is paused. {@link #enter} and {@link
 * #await} belong to the worker's thread, the rest to any.
 */
public final class StepGate {

  private static final long LOOK_NANOS = 50_000_000;

  private final Doorbell bell = new Doorbell();
  private volatile long holdFrom = Long.MAX_VALUE;
  private long begun;
  private long heard;
  private boolean resting;

  /** True while a step at this version may begin. */
  public boolean open(long version) {
    return version < holdFrom;
  }

  /**
   * Begins a step, if it may begin; whoever pauses the job hears of it then or later, but never
   * not.
   */
  public synchronized boolean enter(long version) {
    boolean open = open(version);
    begun = open ? version + 1 : begun;
    resting = !open;
    return open;
  }

  /** The worker is in no step, and has shown what it holds to whoever reads it. */
  public synchronized void rest() {
    resting = true;
  }

  /**
   * For the coordinator: the number of the last {@code pause} heard of, and if it is in no step.
   */
  synchronized JsonObject toJson() {
    return new JsonObject().put("pause", heard).put("resting", resting);
  }

  /** Waits for the gate to open, at most some 50 ms. */
  public void await(long version, BooleanSupplier needless) {
    bell.await(() -> open(version) || needless.getAsBoolean(), LOOK_NANOS);
  }

  /** Takes a pause over; the version to which the last step leads that was begun. */
  synchronized long obey(Pause pause) {
    holdFrom = pause.holdFrom();
    heard = pause.number();
    bell.ring();
    return begun;
  }

  /** Another incarnation begins, which has begun nothing. */
  synchronized void reset() {
    begun = 0;
    resting = false;
  }
}
