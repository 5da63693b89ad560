package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Publishes how far training may go: when a job is paused, has too few workers or a member hands
 * its part of the model over, no worker starts another step.
 *
 * <p>If workers wait for each other in a round, one may have started it before it learned of the
 * pause. Each reports the version after its last started step. All workers then go on up to the
 * highest of these versions, so that every started round is finished and no other starts. That
 * version grows only with steps that were started before the worker knew of the pause, so it stops
 * growing.
 */
final class Pauses {

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final CoordinatorEvents events;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final Map<Admission, Long> acknowledged = new HashMap<>();
  private Pause pause;
  private long firstNumber;
  private long sinceMillis;
  private final Set<Reason> reasons = EnumSet.noneOf(Reason.class);
  private long endNumber;

  /** Why workers are held back. */
  enum Reason {
    /** The user has paused the job. */
    USER,
    /** There are too few workers. */
    TOO_FEW,
    /** A member hands its part of the model over. */
    HANDOVER,
    /** The job ends early. */
    END,
    /** The job is about to be stopped. */
    STOP
  }

  Pauses(
      CoordinatorConfig config,
      MemberRegistry registry,
      CoordinatorEvents events,
      LongSupplier clockMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    this.registry = registry;
    this.events = events;
    this.clockMillis = clockMillis;
    this.decisions = decisions;
    // Members apply no instruction of the number 0; each further one keeps the first test.
    long firstTest = config.evaluations().firstHold();
    pause = new Pause(0, Long.MAX_VALUE, firstTest, false, false, List.of());
  }

  /** Returns the newest instruction. */
  Pause newest() {
    return pause;
  }

  /**
   * Returns whether a worker, while all are held back, has come to the end of its steps. One that
   * is in no step may yet have to take a step that another worker has started. So it must have
   * replied to the newest instruction, which counts the steps of all that replied before.
   */
  boolean isAtRest(Admission worker, StepState state) {
    long newest = config.traits().stepsTogether() ? pause.number() : firstNumber;
    return state.idle()
        && state.pause() >= newest
        && acknowledged.getOrDefault(worker, 0L) >= newest;
  }

  /** Holds workers back until {@link #resume}. */
  void pause() {
    sinceMillis = clockMillis.getAsLong();
    hold(Reason.USER, true);
    events.paused();
  }

  /** Ends the user's pause. */
  void resume() {
    hold(Reason.USER, false);
    events.resumed(clockMillis.getAsLong() - sinceMillis);
  }

  /** Returns whether workers are held back for this reason, and perhaps for others. */
  boolean isHeldFor(Reason reason) {
    return reasons.contains(reason);
  }

  /** Holds workers back while there is this reason; when the last one is gone, they go on. */
  void hold(Reason reason, boolean now) {
    boolean changed = now ? reasons.add(reason) : reasons.remove(reason);
    if (!changed) {
      return;
    }
    if (now && !pause.holds()) {
      holdFrom(0);
      firstNumber = pause.number();
    } else if (reasons.isEmpty()) {
      holdFrom(Long.MAX_VALUE);
    }
  }

  /**
   * Starts an early end: every worker finishes the steps that were started, and no more. If workers
   * wait for each other, the end is known when all have reported their last started step; it is
   * then moved on to the next version at which all replicas agree.
   */
  void endEarly() {
    hold(Reason.END, true);
    if (isHeldFor(Reason.USER)) {
      resume();
    }
    publishEnd();
  }

  /** Publishes where the job ends, once that is known. */
  void publishEnd() {
    if (!isHeldFor(Reason.END)
        || pause.ends()
        || (config.traits().stepsTogether() && !knownByAll(pause.number()))) {
      return;
    }
    long every = config.traits().exchangesEvery();
    long rounded = (pause.holdFrom() + every - 1) / every * every;
    publish(pause.ending(Math.min(rounded, config.lastVersion())));
    endNumber = pause.number();
  }

  /** Returns the version of an early end; empty while it is not known. */
  OptionalLong endsAt() {
    return pause.ends() ? OptionalLong.of(pause.holdFrom()) : OptionalLong.empty();
  }

  /**
   * Returns whether every worker that is left knows where the job ends. Other holds can then be
   * lifted without letting a worker go on.
   */
  boolean endKnownByAll() {
    return pause.ends() && knownByAll(endNumber);
  }

  /**
   * Takes a worker's reply.
   *
   * @param from the worker
   * @param number of the newest instruction it had received
   * @param startedVersion version after the last step that it has started; 0 for none
   */
  void onReply(Admission from, long number, long startedVersion) {
    boolean current = pause.holds() && number >= firstNumber;
    if (config.traits().stepsTogether()
        && current
        && !pause.ends()
        && startedVersion > pause.holdFrom()) {
      holdFrom(startedVersion);
    }
    acknowledged.put(from, number);
    publishEnd();
  }

  /**
   * Lets nobody pass this version before it was tested.
   *
   * @param testing true when the test starts now, false when it has not started
   */
  void test(long at, boolean testing) {
    publish(pause.testing(at, testing));
  }

  /** Makes every member write a checkpoint of this version. */
  void save(long at) {
    publish(pause.saving(at));
  }

  private boolean knownByAll(long number) {
    return registry.of(Role.WORKER).stream()
        .filter(MemberRecord::published)
        .allMatch(worker -> acknowledged.getOrDefault(worker.admission(), 0L) >= number);
  }

  private void holdFrom(long version) {
    publish(pause.holding(version));
  }

  private void publish(Pause next) {
    pause = next;
    decisions.accept(new Hold(next));
  }
}
